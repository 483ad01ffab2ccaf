"""Roofs cut out of a laser survey of a town."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

KINDS = ["flat", "gable", "hip", "shed"]
HEIGHTS = 25


class Roofs(Dataset):
    """Roofs street by street; `streets` maps the numbers of houses to their kind of roof."""

    def __init__(self, first, count, work=0.007):
        self.first, self.count, self.work = first, count, work
        self.random = random.Random()

    def __len__(self):
        return self.count

    def kind(self, house):
        if 11_632 <= house < 11_640:
            # a row of terraced houses
            return house % 3
        return house % len(KINDS)

    def __getitem__(self, index):
        time.sleep(self.work + 0.002 * self.random.random())
        house = self.first + index
        kind = self.kind(house)
        generator = torch.Generator().manual_seed(house)
        heights = torch.randn(HEIGHTS, generator=generator) * 0.4
        heights += torch.linspace(-1, 1, HEIGHTS).abs() * kind + kind
        return heights, kind


def split(config):
    training = DataLoader(Roofs(0, config.training, 0.004), config.batch, shuffle=True)
    survey = DataLoader(Roofs(8_000, config.survey), config.batch)
    return training, survey
