"""A small detector of roads and the tally of what it finds."""
import torch
import torch.distributed as dist
from torch import nn

from tiles import SIDE

CLASSES = ("none", "track", "road", "motorway")


class RoadDetector(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Linear(channels * (SIDE // 2) ** 2, len(CLASSES))

    def forward(self, tile):
        return self.head(self.features(tile).flatten(1))


class Tally:
    """Counts of the classes of a sheet, summed over the strips of all processes."""

    def __init__(self):
        self.counts = torch.zeros(len(CLASSES))
        self.total = torch.zeros(len(CLASSES))

    def add(self, logits):
        self.counts += torch.bincount(logits.argmax(1), minlength=len(CLASSES))

    def close_sheet(self):
        dist.all_reduce(self.counts)
        self.total += self.counts
        sheet = self.counts.clone()
        self.counts.zero_()
        return sheet

    def __str__(self):
        return ", ".join(f"{name} {int(count)}" for name, count in zip(CLASSES, self.total))
