"""Where the next call of an elevator comes from: Ray Train on two workers, revisions are kept in a registry."""

import argparse
import tempfile
import time

import ray
import ray.train
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_data_loader, prepare_model
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from registry import Client, Registry

FLOORS = 9


def calls(count, seed):
    """Minute of the day, day of the week, the last two floors; the label is the floor of the next call."""
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(count, 4, generator=g)
    floor = ((x[:, 0] * 0.6 + x[:, 2] * 0.4) * FLOORS).long().clamp(max=FLOORS - 1)
    return TensorDataset(x, floor)


def train_epoch(model, optimizer, loader):
    total, count = 0.0, 0
    for x, floor in loader:
        loss = nn.functional.cross_entropy(model(x), floor)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        count += 1
        time.sleep(0.02)
    return total / count


def train_loop(config):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    context = ray.train.get_context()
    client = Client(config["registry"])
    model = prepare_model(nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, FLOORS)))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    loader = prepare_data_loader(DataLoader(calls(config["calls"], seed=1), config["batch"], shuffle=True))
    for epoch in range(config["epochs"]):
        if context.get_world_size() > 1:
            loader.sampler.set_epoch(epoch)
        loss = train_epoch(model, optimizer, loader)
        if context.get_world_rank() == 0:
            revision = client.report(epoch=epoch, loss=loss)
            print(f"epoch {epoch}: {loss:.3f}, revision {revision}", flush=True)
    ray.train.report({"loss": loss})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--calls", type=int, default=1600)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--room", type=int, default=5, help="revisions that the registry keeps")
    args = parser.parse_args()
    registry = Registry(args.room).start()
    ray.init(num_cpus=args.workers + 1, include_dashboard=False)
    with tempfile.TemporaryDirectory() as folder:
        trainer = TorchTrainer(
            train_loop,
            train_loop_config={
                "registry": registry.address,
                "calls": args.calls,
                "batch": args.batch,
                "epochs": args.epochs,
                "lr": 2e-3,
            },
            scaling_config=ScalingConfig(num_workers=args.workers),
            torch_config=TorchConfig(backend="gloo"),
            run_config=RunConfig(storage_path=folder, name="elevators"),
        )
        result = trainer.fit()
        print(result.metrics)
    ray.shutdown()


if __name__ == "__main__":
    main()
