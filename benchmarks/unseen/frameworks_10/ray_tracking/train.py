"""Delay of trains from timetable features with Ray Train: two workers, metrics go to the group's tracking server."""
import os
import tempfile

import ray
import torch
from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_data_loader, prepare_model
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tracking import MetricsServer, Tracker


def timetable(count=3200):
    g = torch.Generator().manual_seed(13)
    x = torch.randn(count, 14, generator=g)
    return TensorDataset(x, x[:, :5].relu().sum(1) + 0.2 * torch.randn(count, generator=g))


def train_worker(config):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    model = prepare_model(network)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    loader = prepare_data_loader(DataLoader(timetable(), batch_size=16, shuffle=True))
    context = train.get_context()
    tracker = Tracker(config["tracking"], run="delays") if context.get_world_rank() == 0 else None

    step = 0
    for epoch in range(config["epochs"]):
        if context.get_world_size() > 1:
            loader.sampler.set_epoch(epoch)
        for x, delay in loader:
            loss = nn.functional.mse_loss(model(x).squeeze(1), delay)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if tracker is not None and step % 25 == 0:
                tracker.record(step, loss=loss.item())
        train.report({"epoch": epoch, "loss": loss.item()})


def main():
    server = MetricsServer(capacity=20)
    server.start()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    here = os.path.dirname(os.path.abspath(__file__))
    python_path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    ray.init(
        num_cpus=3,
        include_dashboard=False,
        log_to_driver=True,
        object_store_memory=100 * 1024 * 1024,
        runtime_env={"env_vars": {"PYTHONPATH": python_path}},
    )
    trainer = TorchTrainer(
        train_worker,
        train_loop_config={"lr": 2e-3, "epochs": 30, "tracking": server.address},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="delays", storage_path=tempfile.mkdtemp(prefix="delays-")),
        torch_config=TorchConfig(backend="gloo"),
    )
    result = trainer.fit()
    print(result.metrics)
    ray.shutdown()


if __name__ == "__main__":
    main()
