from dataclasses import dataclass, field

import torch


@dataclass
class Mean:
    name: str
    total: float = 0.0
    count: int = 0

    def add(self, value):
        self.total += float(value)
        self.count += 1

    def collect(self, fabric):
        both = torch.tensor([self.total, float(self.count)])
        total, count = fabric.all_reduce(both, reduce_op="sum").tolist()
        self.total, self.count = 0.0, 0
        return total / max(count, 1.0)


@dataclass
class Histogram:
    name: str
    bins: torch.Tensor = field(default_factory=lambda: torch.zeros(8))
    count: int = 0

    def add(self, values):
        self.bins += torch.histc(values, bins=8, min=0.0, max=400.0)
        self.count += 1

    def collect(self, fabric):
        everywhere = fabric.all_gather(self.bins).reshape(-1, 8).sum(0)
        self.bins, self.count = torch.zeros(8), 0
        return everywhere.tolist()


class Board:
    def __init__(self, fabric, *stats):
        self.fabric = fabric
        self.stats = {s.name: s for s in stats}

    def __getitem__(self, name):
        return self.stats[name]

    def publish(self, step):
        """The statistics with the most entries come first in the table."""
        table = {}
        for stat in sorted(self.stats.values(), key=lambda s: (-s.count, s.name)):
            table[stat.name] = stat.collect(self.fabric)
        self.fabric.print(step, table)
