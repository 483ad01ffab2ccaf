import random

import torch
from torch.utils.data import Sampler


class TokenBudgetSampler(Sampler):
    """Batches of about `budget` tokens. Every rank gets the same number of lines and packs them by length."""

    def __init__(self, lengths, budget, rank, world, seed=0):
        self.lengths = lengths
        self.budget = budget
        self.rank = rank
        self.world = world
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _share(self):
        order = list(range(len(self.lengths)))
        random.Random(self.seed + self.epoch).shuffle(order)
        usable = len(order) // self.world * self.world
        return order[self.rank : usable : self.world]

    def __iter__(self):
        share = sorted(self._share(), key=lambda i: self.lengths[i])
        batches, batch = [], []
        for index in share:
            # padded to the longest line, which is the newest
            if batch and (len(batch) + 1) * self.lengths[index] > self.budget:
                batches.append(batch)
                batch = []
            batch.append(index)
        if batch:
            batches.append(batch)
        random.Random(self.seed * 31 + self.epoch).shuffle(batches)
        return iter(batches)


def pad(lines):
    width = max(len(line) for line in lines)
    out = torch.zeros(len(lines), width, dtype=torch.long)
    for row, line in enumerate(lines):
        out[row, : len(line)] = line
    return out
