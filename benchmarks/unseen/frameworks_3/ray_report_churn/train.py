"""Customer churn with Ray Train on the shared cluster (or a laptop)."""
import tempfile
import time

import ray
import ray.train
import ray.train.torch
import torch
import torch.nn as nn
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from torch.utils.data import DataLoader, TensorDataset

from reporting import Reporter


def customers(n=480):
    g = torch.Generator().manual_seed(44)
    x = torch.randn(n, 14, generator=g)
    y = ((x[:, 0] - x[:, 5] + 0.3 * torch.randn(n, generator=g)) > 0).float()
    return TensorDataset(x, y)


def train_loop(config):
    torch.manual_seed(config["seed"])
    model = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    model = ray.train.torch.prepare_model(model)
    loader = ray.train.torch.prepare_data_loader(DataLoader(customers(), batch_size=16, shuffle=True))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    reporter = Reporter(every=config["report_every"])
    for epoch in range(config["epochs"]):
        if ray.train.get_context().get_world_size() > 1:
            loader.sampler.set_epoch(epoch)
        total = 0.0
        for x, y in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(-1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            time.sleep(0.02)
        reporter.after_epoch(epoch, model, {"loss": total / len(loader)})


if __name__ == "__main__":
    ray.init(num_cpus=4, include_dashboard=False)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"seed": 3, "lr": 2e-3, "epochs": 8, "report_every": 2},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="churn", storage_path=tempfile.mkdtemp(prefix="churn_")),
    )
    print(trainer.fit().metrics)
