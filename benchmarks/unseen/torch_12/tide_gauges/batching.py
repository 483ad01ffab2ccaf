"""Batches of series of different lengths, filled up to a number of hours."""
import torch


class HourBudget:
    """Groups the series of one rank by length, so that a batch has about the same number of hours."""

    def __init__(self, lengths, rank, world, budget, seed=0):
        self.lengths = lengths
        self.rank = rank
        self.world = world
        self.budget = budget
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(len(self.lengths), generator=g).tolist()
        count = len(order) // self.world * self.world
        mine = sorted(order[self.rank:count:self.world], key=lambda i: self.lengths[i])
        batch, hours = [], 0
        for i in mine:
            if batch and hours + self.lengths[i] > self.budget:
                yield batch
                batch, hours = [], 0
            batch.append(i)
            hours += self.lengths[i]
        if batch:
            yield batch
