"""Photographic plates with a comet: brightness along the tail, and how far out the tail is still visible."""

import torch
from torch.utils.data import Dataset


class Plates(Dataset):
    """A plate is `length` samples of brightness from the nucleus outwards, with the tail's profile as target.

    `clouded` plates were exposed through haze; they train as well as others, but are not measured.
    """

    def __init__(self, count, length, seed, clouded=()):
        self.count = count
        self.length = length
        self.seed = seed
        self.clouded = frozenset(clouded)
        self.along = torch.linspace(0.0, 1.0, length)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_003 + i)
        scale = 0.15 + 0.3 * torch.rand((), generator=g)
        profile = torch.exp(-self.along / scale)
        seen = profile + 0.2 * torch.randn(self.length, generator=g)
        reach = int((profile > 0.05).sum())
        return seen, profile, torch.tensor(reach), torch.tensor(i not in self.clouded)
