"""Lentils on the belt: trays with different numbers of grains, cut into chunks of a fixed size."""
import time

import torch
from torch.utils.data import Dataset

FEATURES, SORTS = 10, 3


class Trays(Dataset):
    """Belt 1 has the largest trays; a tray in its middle has to be fetched from the tape archive."""

    def __init__(self, belt, trays, archived=45, archive_delay=3.5):
        self.belt, self.trays = belt, trays
        self.archived, self.archive_delay = archived, archive_delay

    def __len__(self):
        return self.trays

    def __getitem__(self, index):
        if self.belt == 1 and index == self.archived:
            time.sleep(self.archive_delay)
        g = torch.Generator().manual_seed(5000 * self.belt + index)
        grains = int(torch.randint(20, 60 + 60 * (self.belt == 1), (1,), generator=g))
        sort = torch.randint(0, SORTS, (grains,), generator=g)
        x = torch.randn(grains, FEATURES, generator=g)
        x[:, :SORTS] += 2 * torch.nn.functional.one_hot(sort, SORTS)
        return x, sort


def chunks(x, sort, size):
    return list(zip(x.split(size), sort.split(size)))


def overview():
    for belt in range(3):
        sizes = torch.tensor([len(Trays(belt, 60, archive_delay=0)[index][1]) for index in range(60)]).float()
        print(f"belt {belt}: {sizes.mean():.0f} grains a tray, at most {sizes.max():.0f}")


if __name__ == "__main__":
    overview()
