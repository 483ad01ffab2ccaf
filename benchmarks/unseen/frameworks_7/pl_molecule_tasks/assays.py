import time

import torch
from torch.utils.data import Dataset


class AssayTable(Dataset):
    """Fingerprints with up to three measured properties each."""

    tasks = ("logp", "solubility", "herg")

    def __init__(self, molecules):
        g = torch.Generator().manual_seed(21)
        self.bits = torch.randint(0, 2, (molecules, 32), generator=g).float()
        self.values = torch.randn(molecules, 3, generator=g)
        self.known = torch.ones(molecules, 3)
        self.known[1::3, 1] = 0
        # plates of the second campaign came without the cardiac assay
        self.known[360:424:2, 2] = 0

    def __len__(self):
        return len(self.bits)

    def __getitem__(self, i):
        return self.bits[i], self.values[i], self.known[i]


def collate(rows):
    time.sleep(0.02)
    return tuple(torch.stack(column) for column in zip(*rows))
