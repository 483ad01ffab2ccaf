"""Wheels of cheese come in lots; a cellar photographs all the wheels of a lot, one batch after the other."""

import time

import torch
from torch.utils.data import IterableDataset

COLOURS = 15
LOT = 24


class Cellar(IterableDataset):
    """Batches of a cellar with the number of the lot; a lot is as many batches as the cellar made of it."""

    def __init__(self, number, batches, batch_size, larger_lots=None):
        self.number, self.batches, self.batch_size = number, batches, batch_size
        self.larger_lots = larger_lots or {}

    def lots(self):
        lot, done = 0, 0
        while done < self.batches:
            for _ in range(min(self.larger_lots.get((self.number, lot), LOT), self.batches - done)):
                yield lot
                done += 1
            lot += 1

    def __iter__(self):
        generator = torch.Generator().manual_seed(70 + self.number)
        for lot in self.lots():
            time.sleep(0.045 + 0.015 * float(torch.rand(1, generator=generator)))
            rind = torch.rand(self.batch_size, COLOURS, generator=generator)
            age = rind[:, :5].sum(dim=1, keepdim=True) - rind[:, 5:7].sum(dim=1, keepdim=True) + 0.01 * (lot % 3)
            yield lot, rind, age
