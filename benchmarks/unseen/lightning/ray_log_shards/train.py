"""Latency classifier on log shards, one shard per Ray worker."""
import argparse
import os
import tempfile
import time

import ray
import torch
from ray import train
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model

from shards import batches

SHARDS = ["web", "api"]


def loop(config):
    context = train.get_context()
    mine = SHARDS[context.get_world_rank() :: context.get_world_size()]
    torch.manual_seed(0)
    model = prepare_model(
        torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    criterion = torch.nn.BCEWithLogitsLoss()

    for epoch in range(config["epochs"]):
        losses = []
        for x, y in batches(mine, config["batch_size"]):
            optimizer.zero_grad()
            loss = criterion(model(x).squeeze(1), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            time.sleep(0.03)
        train.report({"epoch": epoch, "steps": len(losses), "loss": sum(losses) / len(losses)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()

    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "300")  # slow shared machine
    ray.init(num_cpus=3, object_store_memory=100 * 2**20, include_dashboard=False)
    trainer = TorchTrainer(
        loop,
        train_loop_config=vars(args),
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=train.ScalingConfig(num_workers=len(SHARDS)),
        run_config=train.RunConfig(name="latency", storage_path=tempfile.mkdtemp()),
    )
    print(trainer.fit().metrics)


if __name__ == "__main__":
    main()
