"""Moisture of grain in silos with DeepSpeed, ZeRO stage 3 on CPUs."""

import argparse
import logging
import os
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

from inspect_weights import SensorReport  # noqa: E402

SENSORS = [f"{kind}{level}" for kind in ("temp", "hum", "co2") for level in range(8)]


def config(batch, ranks):
    return {
        "train_micro_batch_size_per_gpu": batch,
        "train_batch_size": batch * ranks,
        "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 1000000,
    }


class Moisture(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.entry = nn.Linear(len(SENSORS), width)
        self.body = nn.Linear(width, width)
        self.exit = nn.Linear(width, 1)

    def forward(self, readings):
        return self.exit(torch.relu(self.body(torch.relu(self.entry(readings))))).squeeze(-1)


def readings(rank, count):
    g = torch.Generator().manual_seed(rank)
    x = torch.randn(count, len(SENSORS), generator=g)
    return x, x[:, 8:16].mean(1) + 0.3 * x[:, 0] + 0.05 * torch.randn(count, generator=g)


def train_epoch(engine, x, y, batch):
    """One pass over the readings of this process; returns the sum of its losses."""
    total = torch.zeros(())
    for rows in torch.arange(len(x)).split(batch):
        loss = nn.functional.mse_loss(engine(x[rows]), y[rows])
        engine.backward(loss)
        engine.step()
        total += loss.detach()
        time.sleep(0.01)
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=50, help="steps of an epoch")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--report-every", type=int, default=2, help="epochs between two reports")
    parser.add_argument("--width", type=int, default=32)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(3)
    model = Moisture(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config(args.batch, ranks))
    report = SensorReport(SENSORS, args.report_every)
    x, y = readings(rank, args.steps * args.batch)
    for epoch in range(args.epochs):
        total = train_epoch(engine, x, y, args.batch)
        if rank == 0 and report.due(epoch):
            report.write(epoch, engine.module.entry)
        dist.all_reduce(total)
        if rank == 0:
            logging.info("epoch %d: %.4f", epoch, total.item() / args.steps / ranks)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
