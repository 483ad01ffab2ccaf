"""Learns braking distances of wagons with Ray Train, one yard per worker."""

import argparse
import tempfile
import time

import ray
import ray.train
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn

from brakes import FEATURES, Yard

HEAVY = [0.02, 0.6]  # the second yard loads ore


def train_yard(config):
    torch.set_num_threads(1)
    torch.manual_seed(3)
    rank = ray.train.get_context().get_world_rank()
    yard = Yard(rank, HEAVY[rank])
    net = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1))
    model = prepare_model(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    for epoch in range(config["epochs"]):
        total = 0.0
        for _ in range(config["steps"]):
            wagons, distances = yard.batch(config["batch"])
            loss = nn.functional.mse_loss(model(wagons).squeeze(-1), distances)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            time.sleep(0.03)
        ray.train.report({"epoch": epoch, "loss": total / config["steps"]})
    messages = yard.simulation.close()
    print(f"yard {rank}: {len(messages.splitlines())} messages of the simulation", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=True)
    with tempfile.TemporaryDirectory() as folder:
        trainer = TorchTrainer(
            train_yard,
            train_loop_config=vars(args),
            torch_config=TorchConfig(backend="gloo"),
            scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
            run_config=RunConfig(name="wagons", storage_path=folder),
        )
        result = trainer.fit()
        print(result.metrics, flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
