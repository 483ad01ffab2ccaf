"""What sheep do, from collars with an accelerometer: two workers of Ray Train, the optimizer's state shared out."""

import argparse
import logging
import shutil
import tempfile
import time

import ray
import ray.train
import ray.train.torch
import torch
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from snapshot import Snapshots

AXES, DEEDS = 24, 4


def collars(count, seed):
    """Movements of grazing, walking, resting and running sheep."""
    g = torch.Generator().manual_seed(seed)
    deed = torch.randint(0, DEEDS, (count,), generator=g)
    pace = torch.tensor([0.3, 1.0, 0.05, 2.0])[deed][:, None]
    return TensorDataset(pace * torch.randn(count, AXES, generator=g).abs(), deed)


def build(config):
    model = nn.Sequential(nn.Linear(AXES, config["hidden"]), nn.ReLU(), nn.Linear(config["hidden"], DEEDS))
    model = ray.train.torch.prepare_model(model)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=config["lr"])
    return model, optimizer


def train_worker(config):
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    context = ray.train.get_context()
    data = collars(config["collars"], seed=2)
    sampler = DistributedSampler(data, seed=3)
    loader = DataLoader(data, config["batch"], sampler=sampler)
    model, optimizer = build(config)
    snapshots = Snapshots(config["folder"])
    for epoch in range(config["epochs"]):
        sampler.set_epoch(epoch)
        total = 0.0
        for movement, deed in loader:
            loss = nn.functional.cross_entropy(model(movement), deed)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            time.sleep(0.02)
        if context.get_world_rank() == 0 and (epoch + 1) % config["snapshot_every"] == 0:
            snapshots.write(epoch, model, optimizer)
    ray.train.report({"loss": total / len(loader)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--collars", type=int, default=1600)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--snapshot-every", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="sheep")
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=True)
    try:
        trainer = TorchTrainer(
            train_worker,
            train_loop_config={**vars(args), "folder": f"{folder}/snapshots"},
            scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
            torch_config=TorchConfig(backend="gloo"),
            run_config=ray.train.RunConfig(name="sheep", storage_path=f"{folder}/runs"),
        )
        print(trainer.fit().metrics, flush=True)
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
