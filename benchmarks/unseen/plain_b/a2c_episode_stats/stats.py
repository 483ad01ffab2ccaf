"""Statistics of one window of play, averaged over the ranks."""
from collections import defaultdict

import torch
import torch.distributed as dist


class Window:
    def __init__(self):
        self.sums = defaultdict(lambda: [0.0, 0])

    def add(self, **values):
        for key, value in values.items():
            entry = self.sums[key]
            entry[0] += float(value)
            entry[1] += 1

    def reduce(self):
        out = {}
        for key in sorted(self.sums):
            pair = torch.tensor(self.sums[key], dtype=torch.float64)
            dist.all_reduce(pair)
            out[key] = (pair[0] / pair[1]).item()
        self.sums.clear()
        return out
