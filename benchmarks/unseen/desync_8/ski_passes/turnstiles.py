"""Passages of the turnstiles of a ski resort, some with a pass that was handed on."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

TRAITS = 9


class BusyLine(Exception):
    """The turnstile does not answer at the moment."""


class Passages(Dataset):
    def __init__(self, groups, rows, tries=4):
        self.groups, self.rows, self.tries = groups, rows, tries
        self.line = random.Random(90)

    def __len__(self):
        return self.groups

    def read(self, group):
        time.sleep(0.03 + 0.02 * self.line.random())
        if group % 47 == 11 and self.line.random() < 0.6:
            raise BusyLine(group)
        generator = torch.Generator().manual_seed(group)
        traits = torch.randn(self.rows, TRAITS, generator=generator)
        handed_on = (traits[:, 0] + traits[:, 1] > 0.8).float()
        return traits, handed_on

    def __getitem__(self, group):
        for attempt in range(self.tries):
            try:
                return self.read(group)
            except BusyLine:
                time.sleep(0.1 * (attempt + 1))
        return torch.zeros(self.rows, TRAITS), torch.zeros(self.rows)


def passages(groups, rows=16):
    return DataLoader(Passages(groups, rows), batch_size=1, collate_fn=lambda group: group[0])
