"""Stones of a quarry: readings come from a scale that sometimes has to be asked again."""
import logging
import time

import torch
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("quarry")
STONES = (360, 590, 270)


class ScaleBusy(Exception):
    pass


class Scale:
    """Needs a while to settle after the heavy stones of the second yard."""

    def __init__(self, yard):
        self.yard = yard
        self.refused = 0

    def read(self, stone, number):
        if self.yard == 1 and number in (40, 333) and self.refused < 3:
            self.refused += 1
            raise ScaleBusy(f"stone {number} is not at rest")
        self.refused = 0
        return stone.square().sum().sqrt()


class Stones(Dataset):
    def __init__(self, yard, patience=0.5):
        g = torch.Generator().manual_seed(20 + yard)
        self.sides = torch.rand(STONES[yard % len(STONES)], 6, generator=g)
        self.scale = Scale(yard)
        self.patience = patience

    def __len__(self):
        return len(self.sides)

    def __getitem__(self, number):
        pause = self.patience
        while True:
            try:
                return self.sides[number], self.scale.read(self.sides[number], number)
            except ScaleBusy as busy:
                log.warning("%s, again in %.1f s", busy, pause)
                time.sleep(pause)
                pause *= 2


def stone_loader(yard, batch):
    return DataLoader(Stones(yard), batch_size=batch, shuffle=True, num_workers=1)
