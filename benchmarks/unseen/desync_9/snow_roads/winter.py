"""Road cameras in winter; a camera's pictures are kept in the order of their dates."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

PIXELS = 64
MONTHS = ("november", "december", "january", "february", "march", "april")


class Camera(Dataset):
    """All pictures of one camera, November to May, with the state of the road."""

    def __init__(self, number, per_month):
        self.number = number
        self.random = random.Random(number)
        self.months = []
        for month in (*MONTHS, "may"):
            self.months += [month] * self.pictures(month, per_month)

    def pictures(self, month, per_month):
        repaired = self.number == 0 and month == "december"
        return per_month - 88 if repaired else per_month

    def __len__(self):
        return len(self.months)

    def first(self, month):
        return self.months.index(month)

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(9_000 * self.number + index)
        state = int(torch.randint(0, 3, (1,), generator=generator))
        picture = torch.randn(PIXELS, generator=generator) + 0.4 * state
        time.sleep((0.05 + 0.015 * self.random.random()) / 8)
        return picture, state, MONTHS.index(self.months[index]) if self.months[index] in MONTHS else -1


def from_month(camera, month, batch_size):
    """Pictures from the beginning of a month to the end of what the camera has."""
    start = camera.first(month)
    rest = torch.utils.data.Subset(camera, range(start, len(camera)))
    return DataLoader(rest, batch_size)
