"""Batches of hymns of similar length, so that little is padded."""
import random

import torch
from torch.utils.data import Sampler


class NoteBudgetSampler(Sampler):
    """Batches with at most `notes` notes after padding.

    Hymns are sorted by length, cut into batches, and the batches are shuffled anew in each epoch.
    """

    def __init__(self, lengths, notes, seed=0):
        self.lengths = list(lengths)
        self.notes = notes
        self.seed = seed
        self.epoch = 0
        self.batches = self._cut()

    def _cut(self):
        order = sorted(range(len(self.lengths)), key=self.lengths.__getitem__)
        batches, current = [], []
        for index in order:
            longest = self.lengths[index]
            if current and longest * (len(current) + 1) > self.notes:
                batches.append(current)
                current = []
            current.append(index)
        if current:
            batches.append(current)
        return batches

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        batches = list(self.batches)
        random.Random(self.seed + self.epoch).shuffle(batches)
        return iter(batches)


def pad(hymns):
    longest = max(len(h) for h in hymns)
    notes = torch.zeros(len(hymns), longest, dtype=torch.long)
    for row, hymn in enumerate(hymns):
        notes[row, : len(hymn)] = hymn
    return notes
