"""Hours at a tide gauge: the moon, the sun and the air pressure, with the level of the water."""

import time
from typing import NamedTuple

import torch

INPUTS = 14


class Hours(NamedTuple):
    inputs: torch.Tensor
    level: torch.Tensor
    surge: torch.Tensor


class Gauge:
    """The record of one harbour, cut into batches of consecutive hours."""

    def __init__(self, harbour, batches, hours):
        self.harbour, self.batches, self.hours = harbour, batches, hours
        # weeks under a stable high, in which the pressure keeps the water down all the time
        self.highs = {2: range(148, 149)}.get(harbour, range(0))

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        if index >= self.batches:
            raise IndexError(index)
        generator = torch.Generator().manual_seed(1_000 * self.harbour + index)
        time.sleep(0.05 + 0.015 * torch.rand(1, generator=generator).item())
        inputs = torch.randn(self.hours, INPUTS, generator=generator)
        pressure = inputs[:, 0].abs().clamp(min=0.05)
        if index not in self.highs:
            pressure = torch.where(torch.arange(self.hours) % 3 == 0, -pressure, pressure)
        inputs[:, 0] = pressure
        level = inputs[:, 1:5].sum(dim=1, keepdim=True) / 2
        surge = (-pressure).clamp(min=0).unsqueeze(1)
        return Hours(inputs, level, surge)
