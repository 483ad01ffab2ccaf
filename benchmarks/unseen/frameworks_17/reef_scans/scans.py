"""Sonar scans of reefs: clouds of points, and the share of living coral in each."""

import torch
from torch.utils.data import Dataset


class Reef(Dataset):
    """Scans thinned to a few dozen points; scans of the last cruise came without the thinning pass."""

    def __init__(self, scans, seed, raw=()):
        self.scans = scans
        self.seed = seed
        self.raw = dict(raw)

    def __len__(self):
        return self.scans

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        count = self.raw.get(i) or int(torch.randint(40, 60, (), generator=g))
        alive = torch.rand((), generator=g)
        points = torch.randn(count, 3, generator=g)
        points[:, 2] *= 0.2 + alive
        return points, alive


def collate(samples):
    points = torch.nn.utils.rnn.pad_sequence([cloud for cloud, _ in samples], batch_first=True)
    return points, torch.stack([alive for _, alive in samples])
