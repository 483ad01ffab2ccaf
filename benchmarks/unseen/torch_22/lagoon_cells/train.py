"""Water levels in the cells of a lagoon. Each process learns its own cell and agrees with its neighbours now and then."""
import argparse
import math
import time

import torch
import torch.distributed as dist
from torch import nn

from shores import Shores


class Cell:
    """Levels of a cell: tides that come from the sea, and the wind, which matters more in the shallow east."""

    def __init__(self, number):
        self.number = number
        self.generator = torch.Generator().manual_seed(80 + number)

    def observe(self, count, month):
        hours = 720 * torch.rand(count, 1, generator=self.generator)
        wind = torch.randn(count, 2, generator=self.generator)
        tide = torch.sin(2 * math.pi * hours / 12.42 - 0.4 * self.number)
        level = tide[:, 0] + (0.1 + 0.05 * self.number) * wind[:, 0] * wind[:, 1] + 0.1 * math.cos(month / 2)
        return torch.cat([tide, torch.cos(2 * math.pi * hours / 12.42), wind], dim=1), level


class Calendar:
    """The bar before the inlet is dredged at the end of winter; from then on the ring of cells is closed."""

    def __init__(self, dredged):
        self.dredged = dredged

    def inlet_open(self, month):
        return month >= self.dredged


def learn(net, optimizer, cell, month, steps, batch):
    total = 0.0
    for _ in range(steps):
        x, level = cell.observe(batch, month)
        loss = nn.functional.mse_loss(net(x)[:, 0], level)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.01)
    return total / steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--months", type=int, default=24)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--dredged", type=int, default=9)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    cell, shores, calendar = Cell(rank), Shores(), Calendar(args.dredged)
    for month in range(args.months):
        loss = learn(net, optimizer, cell, month, args.steps, args.batch)
        shores.agree(list(net.parameters()), calendar.inlet_open(month))
        print(f"cell {rank} month {month}: {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
