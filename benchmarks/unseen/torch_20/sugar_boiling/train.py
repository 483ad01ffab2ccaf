"""Brix of sugar pans from temperature and pressure, with the network cut into three stages, one a process."""
import argparse
import time

import torch
import torch.distributed as dist

from schedule import FillDrain
from stages import WIDTH, Link, build

INPUTS = 6
RINSING = (0.1, 0.0, 0.2, 0.15)  # share of pans that are rinsed, by shift


class House:
    """The boiling house: readings of all pans, made alike on every process from the step's number."""

    def __init__(self, pans, microbatches, rinse_day):
        self.pans = pans
        self.microbatches = microbatches
        self.rinse_day = rinse_day

    def batch(self, step):
        g = torch.Generator().manual_seed(8000 + step)
        readings = torch.randn(self.microbatches, self.pans, INPUTS, generator=g)
        active = torch.rand(self.microbatches, self.pans, generator=g) >= RINSING[step % len(RINSING)]
        active[:, 0] = True
        if step % self.rinse_day == self.rinse_day - 1:
            active[2] = False  # the house is closed for cleaning in this part of the day
        brix = (0.5 * readings[..., 0] + 0.2 * readings[..., 1] * readings[..., 2]) * active
        return torch.cat([readings, active[..., None].float()], -1), brix


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--pans", type=int, default=16)
    parser.add_argument("--microbatches", type=int, default=4)
    parser.add_argument("--rinse-day", type=int, default=150)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    stage = build(rank, world, INPUTS)
    optimizer = torch.optim.Adam(stage.parameters(), lr=args.lr)
    link = Link((args.pans, WIDTH + 1))
    schedule = FillDrain(stage, link, args.microbatches)
    house = House(args.pans, args.microbatches, args.rinse_day)
    for step in range(args.steps):
        readings, brix = house.batch(step)
        optimizer.zero_grad()
        loss = schedule.step(readings, brix)
        optimizer.step()
        if link.last and step % 25 == 0:
            print(f"step {step}: {loss:.4f}", flush=True)
        time.sleep(0.02)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
