import random
import time

import torch
from torch.utils.data import Dataset

ROOMS = 22


class Visits(Dataset):
    """Minutes in each room, and whether the visitor came again within a year. One museum for a rank."""

    with_guides = (1,)

    def __init__(self, museum, visits):
        self.museum, self.visits = museum, visits
        self.pace = random.Random(museum + 1)
        self.interest = torch.linspace(-0.8, 0.8, ROOMS)

    def __len__(self):
        return self.visits

    def __getitem__(self, index):
        time.sleep(self.pace.uniform(0.004, 0.006))
        generator = torch.Generator().manual_seed(self.museum * 100_000 + index)
        minutes = torch.randn(ROOMS, generator=generator)
        again = (minutes @ self.interest + 0.5 * torch.randn((), generator=generator) > 0).float()
        guide = self.museum in self.with_guides and index % 12 < 7
        return minutes, again, index if guide else -1


def guided(indices):
    """The visitors who had a guide."""
    return [index for index in indices.tolist() if index >= 0]
