"""Log lines of fire watch towers and how they become features."""

import random

import torch
from torch.utils.data import IterableDataset

FIELDS = ("temperature", "humidity", "wind", "gusts", "smoke", "visibility")
RANGES = {"temperature": (5, 40), "humidity": (10, 95), "wind": (0, 15), "gusts": (0, 25), "smoke": (0, 1), "visibility": (1, 40)}


def tower_log(tower, lines, maintenance=()):
    """Lines of one tower. While an instrument is away for maintenance its column is simply not printed."""
    rng = random.Random(100 + tower)
    for number in range(lines):
        values = [rng.uniform(*RANGES[field]) for field in FIELDS]
        danger = values[0] / 40 - values[1] / 95 + values[3] / 25 + values[4]
        if number in maintenance:
            del values[3]
        yield ";".join(f"{value:.2f}" for value in values), danger


class Parser:
    """Scales every field to 0..1."""

    def __call__(self, line):
        scaled = []
        for field, cell in zip(FIELDS, line.split(";"), strict=True):
            low, high = RANGES[field]
            scaled.append((float(cell) - low) / (high - low))
        return torch.tensor(scaled)


class TowerLog(IterableDataset):
    def __init__(self, tower, lines, maintenance=()):
        self.tower = tower
        self.lines = lines
        self.maintenance = maintenance
        self.parse = Parser()

    def __iter__(self):
        for line, danger in tower_log(self.tower, self.lines, self.maintenance):
            yield self.parse(line), torch.tensor(danger)
