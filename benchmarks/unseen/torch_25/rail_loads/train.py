"""Prepares the table of axle loads of three yards: running means and deviations over all of them.

The table is what the model of track wear is trained on later, so each row is scaled with the statistics up to it.
"""
import argparse
import logging
import math
import time

import torch
import torch.distributed as dist

from weighbridge import YARDS, Weighbridge

log = logging.getLogger("loads")


class RunningScale:
    """Mean and standard deviation of everything that all processes have seen so far."""

    def __init__(self, decay):
        self.decay = decay
        self.count = self.total = self.squares = 0.0

    def update(self, loads):
        sums = torch.tensor([len(loads), sum(loads), sum(load * load for load in loads)])
        dist.all_reduce(sums)
        count, total, squares = sums.tolist()
        self.count = self.decay * self.count + count
        self.total = self.decay * self.total + total
        self.squares = self.decay * self.squares + squares

    @property
    def mean(self):
        return self.total / max(self.count, 1e-9)

    @property
    def deviation(self):
        variance = self.squares / max(self.count, 1e-9) - self.mean**2
        return math.sqrt(max(variance, 1e-6))


def axle_loads(wagons):
    return [wagon.tonnes / wagon.axles for wagon in wagons if wagon.loaded]


def prepare(args, bridge):
    scale = RunningScale(args.decay)
    rows = []
    for quarter in range(args.quarters):
        loads = axle_loads(bridge.quarter(quarter))
        scale.update(loads)
        rows.extend((load - scale.mean) / scale.deviation for load in loads)
        time.sleep(0.05)
        if quarter % 20 == 0:
            log.info("quarter %d: mean %.2f t, deviation %.2f t", quarter, scale.mean, scale.deviation)
    return torch.tensor(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quarters", type=int, default=160)
    parser.add_argument("--decay", type=float, default=0.98)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
    rows = prepare(args, Weighbridge(YARDS[rank % len(YARDS)], seed=rank))
    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, torch.tensor([len(rows)]))
    log.info("rows of the yards: %s", [int(size) for size in sizes])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
