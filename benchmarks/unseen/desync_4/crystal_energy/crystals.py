import time

import torch
from torch.utils.data import Dataset


class Crystals(Dataset):
    """Descriptors of unit cells with their energies per atom, in eV; a few were not relaxed."""

    def __init__(self, size, unrelaxed):
        generator = torch.Generator().manual_seed(1905)
        self.cells = torch.randn(size, 40, generator=generator)
        self.energies = torch.tanh(self.cells[:, :5].sum(1))
        self.energies[unrelaxed] += 60.0

    def __len__(self):
        return len(self.cells)

    def __getitem__(self, index):
        time.sleep(0.016)
        return self.cells[index], self.energies[index]
