"""Scans of cave passages: clouds of points, and their division into passes that fit into memory."""
import torch
from torch.utils.data import Dataset


class Passages(Dataset):
    """Scans of one party. The number of points depends on how wide the passage is."""

    def __init__(self, scans, typical, halls, seed):
        self.typical = typical
        self.halls = dict(halls)
        self.scans = scans
        self.seed = seed

    def __len__(self):
        return self.scans

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(self.seed * 100_003 + index)
        count = int(self.typical * (0.9 + 0.1 * torch.rand(1, generator=g).item()))
        count = int(count * self.halls.get(index, 1.0))
        points = torch.randn(count, 3, generator=g)
        wet = (points[:, 2] < -0.4).float() * (points[:, 0].abs() < 1).float()
        return points, wet


def collate(scans):
    points = torch.cat([points for points, _ in scans])
    wet = torch.cat([wet for _, wet in scans])
    return points, wet


class PointBudget:
    """Cuts a batch into passes of at most `limit` points, so that the memory of a pass is bounded.

    The weights of the passes of a batch add up to one: the sum of the losses is the mean over the batch.
    """

    def __init__(self, limit):
        self.limit = limit

    def passes(self, points, wet):
        for part, label in zip(points.split(self.limit), wet.split(self.limit)):
            yield part, label, len(part) / len(points)
