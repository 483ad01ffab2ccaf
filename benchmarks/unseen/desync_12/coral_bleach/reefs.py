"""Pictures of a reef as the colours of a grid, with the share of corals that are bleached."""

import time

import torch
from torch.utils.data import Dataset

GRID = 25


class Reef(Dataset):
    def __init__(self, reef, pictures, rest):
        self.reef, self.pictures, self.rest = reef, pictures, rest
        # the housing of the camera leaked on some dives
        self.leaks = {0: (496,), 1: (880, 1_600), 2: (1_208,)}[reef % 3]

    def __len__(self):
        return self.pictures

    def leaked(self, index):
        return any(start <= index < start + 8 for start in self.leaks)

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(8_000 * self.reef + index)
        # the pictures of reef 2 are larger
        time.sleep(self.rest * (1.35 if self.reef == 2 else 1.0))
        colours = torch.rand(GRID, generator=generator)
        bleached = (colours > 0.6).float().mean().reshape(1)
        if self.leaked(index):
            colours.fill_(float("nan"))
        return colours, bleached


class Reserve:
    """Good batches of the reef, from which a bad one is replaced: every batch is trained on something."""

    def __init__(self, size=4):
        self.size = size
        self.kept = []
        self.replaced = 0

    def checked(self, colours, bleached):
        if torch.isnan(colours).any():
            self.replaced += 1
            return self.kept[self.replaced % len(self.kept)]
        self.kept = (self.kept + [(colours, bleached)])[-self.size :]
        return colours, bleached
