"""Sizes of hailstones from pads, with Ray Train: each of two workers reads the pads of its own regions."""

import argparse
import tempfile
import time

import ray
import ray.train
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn

from pads import FEATURES, batches, describe, storms
from scores import ClassErrors, show


class SizeNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, dents):
        return 20 * self.net(dents).squeeze(-1)


def train_month(model, optimizer, data, config):
    for dents, sizes in batches(data, config["batch"]):
        loss = nn.functional.l1_loss(model(dents), sizes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(config["pause"])


def train_worker(config):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    worker = ray.train.get_context().get_world_rank()
    print(f"worker {worker} reads {describe(worker)}", flush=True)
    model = prepare_model(SizeNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    errors = ClassErrors()
    for month in range(config["months"]):
        train_month(model, optimizer, storms(worker, month, config["pads"], seed=1), config)
        errors.reset()
        for dents, sizes in batches(storms(worker, month, config["pads"] // 4, seed=2), config["batch"]):
            errors.update(model(dents), sizes)
        results = errors.compute()
        if worker == 0:
            print(f"month {month}: {show(results)}", flush=True)
    ray.train.report({"months": config["months"]})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--months", type=int, default=10)
    parser.add_argument("--pads", type=int, default=320)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--pause", type=float, default=0.04)
    args = parser.parse_args()
    ray.init(num_cpus=3, include_dashboard=False)
    with tempfile.TemporaryDirectory() as folder:
        trainer = TorchTrainer(
            train_worker,
            train_loop_config=vars(args),
            scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
            torch_config=TorchConfig(backend="gloo"),
            run_config=RunConfig(name="hail_pads", storage_path=folder),
        )
        print(trainer.fit().metrics)
    ray.shutdown()


if __name__ == "__main__":
    main()
