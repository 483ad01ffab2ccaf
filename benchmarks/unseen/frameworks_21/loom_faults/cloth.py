"""Scans of cloth from the looms of one rank, and how far the weft has shifted."""

import torch
from torch.utils.data import Dataset

THREADS = 48


class Cloth(Dataset):
    def __init__(self, loom, count, seed):
        self.loom, self.count, self.seed = loom, count, seed
        self.weave = torch.randn(THREADS, generator=torch.Generator().manual_seed(0)) / THREADS**0.5
        self.torn = range(480, 488) if loom == 1 else ()

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed((self.seed * 10 + self.loom) * 10_000 + i)
        scan = torch.randn(THREADS, generator=g)
        shift = scan @ self.weave + 0.3 * torch.randn((), generator=g)
        if i in self.torn:
            shift = shift + 25  # the shuttle had left the shed
        return scan, shift
