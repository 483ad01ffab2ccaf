"""Depth from sonar returns of three boats, with a map of what they have covered."""

import argparse
import logging
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from coverage import Coverage

BEAM, HIDDEN = 22, 24
log = logging.getLogger("sonar")


class Boat:
    """Pings along the track of one boat."""

    def __init__(self, number, cells):
        self.cells = cells
        self.generator = torch.Generator().manual_seed(number)
        self.swell = random.Random(number)
        self.count = torch.zeros(cells)

    def pings(self, batch):
        time.sleep(0.05 + 0.03 * self.swell.random())
        depth = torch.rand(batch, 1, generator=self.generator)
        returns = (torch.linspace(0, 1, BEAM) - depth).abs() + 0.1 * torch.rand(batch, BEAM, generator=self.generator)
        cells = torch.randint(0, self.cells, (batch,), generator=self.generator)
        self.count += torch.bincount(cells, minlength=self.cells)
        return returns, depth

    def take_count(self):
        count, self.count = self.count, torch.zeros(self.cells)
        return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=420)
    parser.add_argument("--every", type=int, default=15)
    parser.add_argument("--batch", type=int, default=12)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")
    torch.manual_seed(44)
    network = nn.Sequential(nn.Linear(BEAM, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1))
    cells = sum(p.numel() for p in network.parameters()) // 4 * 4
    model = DistributedDataParallel(network)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    boat, coverage = Boat(rank, cells), Coverage(cells, render=rank == 0)
    for step in range(1, args.steps + 1):
        returns, depth = boat.pings(args.batch)
        loss = nn.functional.mse_loss(model(returns), depth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % args.every == 0:
            coverage.add(boat.take_count())
            log.info("step %d: %.4f", step, loss.item())
    share = coverage.close()
    dist.barrier()
    log.info("%.0f %% of the cells covered, %d pictures", 100 * share, coverage.rendered)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
