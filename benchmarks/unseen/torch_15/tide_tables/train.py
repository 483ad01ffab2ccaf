"""Tidal constants of harbours: each harbour is fitted by whoever is free, the last ones take longest."""
import argparse
import logging
import math
import threading
import time

import torch
import torch.distributed as dist

from office import Clerk, Office

PERIODS = (12.42, 12.0, 25.82, 23.93)
logger = logging.getLogger("tides")


def readings(harbour, hours=720):
    g = torch.Generator().manual_seed(harbour)
    t = torch.arange(hours, dtype=torch.float32)
    level = sum(torch.rand(1, generator=g) * torch.cos(2 * math.pi * t / p + 6 * torch.rand(1, generator=g))
                for p in PERIODS)
    return t, level + 0.05 * torch.randn(hours, generator=g)


class Fit:
    """Least squares by gradient steps; the estuaries with big harbour numbers need many more of them."""

    def __init__(self, estuary, pause, rate=1.0):
        self.estuary = estuary
        self.pause = pause
        self.rate = rate

    def __call__(self, harbour):
        t, level = readings(harbour)
        waves = torch.stack([f(2 * math.pi * t / p) for p in PERIODS for f in (torch.cos, torch.sin)], 1)
        constants = torch.zeros(waves.shape[1])
        for _ in range(40 if harbour < self.estuary else 350):
            constants -= self.rate * waves.T @ (waves @ constants - level) / len(level)
            time.sleep(self.pause)
        return constants


class Printer(threading.Thread):
    """Tables go to a printer that is slow and sometimes out of paper; it goes on after the program's own work."""

    def __init__(self, tables):
        super().__init__(name="printer")
        self.tables = tables

    def run(self):
        for number, (harbour, constants) in enumerate(sorted(self.tables.items())):
            if number == 8:
                logger.info("out of paper")
                time.sleep(3)
            time.sleep(0.12)
            logger.info("harbour %d: %s", harbour, " ".join(f"{c:.2f}" for c in constants.tolist()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--harbours", type=int, default=22)
    parser.add_argument("--estuary", type=int, default=21)
    parser.add_argument("--pause", type=float, default=0.02)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    width = 2 * len(PERIODS)
    mean = torch.zeros(width)
    tables = {}
    if rank == 0:
        tables = Office(range(args.harbours), width).serve()
        mean = torch.stack(list(tables.values())).mean(0)
    else:
        worked = Clerk(width).pieces(Fit(args.estuary, args.pause))
        logger.info("clerk %d fitted %d harbours", rank, worked)
    dist.broadcast(mean, src=0)
    dist.destroy_process_group()
    if tables:
        Printer(tables).start()
    else:
        logger.info("clerk %d: mean of the first constant %.3f", rank, mean[0])


if __name__ == "__main__":
    main()
