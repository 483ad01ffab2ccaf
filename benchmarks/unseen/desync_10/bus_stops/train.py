"""Delays of buses; an epoch lasts until every stop of the line has been seen. Fabric."""

import argparse
import logging

import torch
from lightning.fabric import Fabric
from torch import nn

from line import INPUTS, STOPS, Line

log = logging.getLogger("buses")


class Coverage:
    """Which stops were seen in this epoch."""

    def __init__(self):
        self.seen = set()

    def add(self, stops):
        self.seen |= stops

    @property
    def complete(self):
        return len(self.seen) == STOPS


def run_epoch(fabric, model, optimizer, line, month):
    coverage, total, rides = Coverage(), 0.0, 0
    for x, delay, stops in line.month(month):
        loss = nn.functional.mse_loss(model(x).squeeze(1), delay)
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        total += loss.item()
        rides += 1
        coverage.add(stops)
        if coverage.complete:
            break
    return total / rides, rides


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--months", type=int, default=5)
    parser.add_argument("--rides", type=int, default=120)
    parser.add_argument("--lr", type=float, default=5e-3)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=4, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(3, verbose=False)
    network = nn.Sequential(nn.Linear(INPUTS, 24), nn.ReLU(), nn.Linear(24, 1))
    model, optimizer = fabric.setup(network, torch.optim.Adam(network.parameters(), lr=options.lr))
    line = Line(fabric.global_rank, options.rides)
    for month in range(options.months):
        mean, rides = run_epoch(fabric, model, optimizer, line, month)
        log.info("garage %d, month %d: %.3f after %d rides", fabric.global_rank, month, mean, rides)
    fabric.barrier()


if __name__ == "__main__":
    main()
