"""Running averages of a training run, over all stations."""
import logging
import math
import sys

import torch
import torch.distributed as dist


class Ledger:
    """Sums of named quantities since the last reset; every process adds its own."""

    def __init__(self, *names):
        self.names = names
        self.reset()

    def reset(self):
        self.sums = dict.fromkeys(self.names, 0.0)
        self.count = 0

    def add(self, size, **values):
        for name in self.names:
            self.sums[name] += float(values[name]) * size
        self.count += size

    def means(self):
        """Averages over the samples of all processes."""
        own = torch.tensor([*self.sums.values(), float(self.count)])
        table = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(table, own)
        *sums, count = torch.stack(table).sum(0).tolist()
        return {name: value / count if count else math.nan for name, value in zip(self.names, sums)}

    def __str__(self):
        return ", ".join(f"{name} {value:.4f}" for name, value in self.means().items())


def station_logger(name, rank):
    """Progress is printed once, by the first process; the others speak up when something is wrong."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter(f"%(asctime)s [{rank}] %(message)s"))
    log = logging.getLogger(name)
    log.addHandler(handler)
    log.setLevel(logging.INFO if rank == 0 else logging.WARNING)
    return log
