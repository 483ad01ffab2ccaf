import time

import torch
from torch.utils.data import Dataset


class TrapImages(Dataset):
    """Pictures of a light trap. The archive is opened by the process that reads, as it cannot be shared."""

    def __init__(self, count, side, species):
        self.count = count
        self.side = side
        self.species = species
        self.archive = None

    def __len__(self):
        return self.count

    def open(self):
        g = torch.Generator().manual_seed(self.count)
        self.archive = torch.rand(self.species, self.side, self.side, generator=g)
        time.sleep(1.5)  # the index of the archive is at its end

    def __getitem__(self, index):
        if self.archive is None:
            self.open()
        species = index % self.species
        g = torch.Generator().manual_seed(index)
        return self.archive[species] + 0.3 * torch.randn(self.side, self.side, generator=g), species


def init_worker(number):
    torch.set_num_threads(1)
