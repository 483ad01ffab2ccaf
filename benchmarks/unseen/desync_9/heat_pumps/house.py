"""Meter readings of one house with a heat pump."""

import random
import time
from dataclasses import dataclass

import torch

FEATURES = 8


@dataclass
class Day:
    features: torch.Tensor
    power: torch.Tensor


class House:
    """A stream of days, without an end; in the holidays nothing is measured and all values are 0."""

    def __init__(self, number):
        self.number, self.day = number, 0
        self.random = random.Random(number)
        self.insulation = torch.linspace(0.2, 1.0, FEATURES) * (1 + 0.1 * number)

    def on_holiday(self):
        return self.number == 3 and self.day == 150

    def read(self):
        time.sleep(0.05 + 0.02 * self.random.random())
        generator = torch.Generator().manual_seed(10_000 * self.number + self.day)
        features = torch.randn(24, FEATURES, generator=generator)
        power = features @ self.insulation + 0.1 * torch.randn(24, generator=generator)
        if self.on_holiday():
            features, power = torch.zeros_like(features), torch.zeros_like(power)
        self.day += 1
        return Day(features, power)


def local_update(weights, day, lr):
    """The change of the weights that one day of one house asks for."""
    error = day.features @ weights - day.power
    return -lr * day.features.T @ error / len(error)
