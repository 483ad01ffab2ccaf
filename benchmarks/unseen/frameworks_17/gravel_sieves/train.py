"""Strength of concrete from the grading of its gravel: every process has a pit, and gets new samples each day (Fabric)."""

import argparse
import logging
import time
from dataclasses import dataclass

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import DDPStrategy
from torch import nn

from laboratory import Laboratory

log = logging.getLogger("gravel")


@dataclass
class Config:
    pits: int = 3
    days: int = 8
    samples: int = 300
    batch: int = 30
    lr: float = 3e-3

    @classmethod
    def from_command_line(cls):
        parser = argparse.ArgumentParser(description=__doc__)
        for name, default in vars(cls()).items():
            parser.add_argument(f"--{name}", type=type(default), default=default)
        return cls(**vars(parser.parse_args()))


class Strength(nn.Module):
    def __init__(self, grades=6, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(grades, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, shares):
        return 3.5 + self.net(shares).squeeze(-1)


def one_day(fabric, config, model, optimizer, shares, strengths):
    order = torch.randperm(len(shares))
    total = torch.zeros(())
    for chosen in order.split(config.batch):
        loss = nn.functional.mse_loss(model(shares[chosen]), strengths[chosen])
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        total += loss.detach()
        time.sleep(0.02)
    return fabric.all_reduce(total / len(order.split(config.batch)), reduce_op="mean")


def main():
    config = Config.from_command_line()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=config.pits, strategy=DDPStrategy(process_group_backend="gloo"))
    fabric.launch()
    fabric.seed_everything(1 + fabric.global_rank)
    laboratory = Laboratory(fabric.global_rank, config.samples)
    model = Strength()
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    model, optimizer = fabric.setup(model, optimizer)
    for day in range(config.days):
        shares, strengths = laboratory.sieve(day)
        error = one_day(fabric, config, model, optimizer, shares, strengths)
        if fabric.is_global_zero:
            log.info("day %d: squared error %.4f", day, error.item())


if __name__ == "__main__":
    main()
