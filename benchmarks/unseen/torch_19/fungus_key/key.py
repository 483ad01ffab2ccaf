"""The key: an encoder of measurements, and a classifier of the names on top of it."""
import torch
from torch import nn

from excursions import MEASURES


class Names:
    """Numbers of the names, in alphabetical order, which is the same everywhere."""

    def __init__(self, finds):
        self.names = sorted({find.name for find in finds})
        self.number = {name: number for number, name in enumerate(self.names)}

    def __len__(self):
        return len(self.names)

    def encode(self, finds):
        return torch.tensor([self.number[find.name] for find in finds])


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down = nn.Sequential(nn.Linear(MEASURES, width), nn.GELU(), nn.Linear(width, width // 2))
        self.up = nn.Sequential(nn.Linear(width // 2, width), nn.GELU(), nn.Linear(width, MEASURES))

    def forward(self, measures):
        return self.up(self.down(measures))


class Classifier(nn.Module):
    def __init__(self, encoder, width, classes, dropout):
        super().__init__()
        self.trunk = encoder.down
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(width // 2, classes)

    def forward(self, measures):
        return self.out(self.drop(torch.relu(self.trunk(measures))))
