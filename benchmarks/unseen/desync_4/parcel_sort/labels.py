import time

import torch
from torch.utils.data import Dataset

DEPOTS = 12


class Labels(Dataset):
    """Scans of address labels: pixels, and the depot as the scanner wrote it."""

    def __init__(self, count, unread=()):
        generator = torch.Generator().manual_seed(31)
        self.scans = torch.randn(count, 256, generator=generator)
        self.depots = [f"D{int(n):02d}" for n in torch.randint(0, DEPOTS, (count,), generator=generator)]
        for index in unread:
            self.depots[index] = "D??"

    def __len__(self):
        return len(self.scans)

    def __getitem__(self, index):
        time.sleep(0.0045)
        return self.scans[index], self.depots[index]


def parse(depots):
    return torch.tensor([int(depot[1:]) for depot in depots])
