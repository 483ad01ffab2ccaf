"""Parcels on a belt under a camera: features of the pictures, the chute, and the exposure they were taken with."""

import time

import torch

FEATURES, CHUTES = 20, 5


class Belt:
    def __init__(self, number, length):
        self.number, self.length = number, length
        self.generator = torch.Generator().manual_seed(600 + number)
        self.position = 0
        # the lamps over a belt are changed when they have burnt for long enough
        self.lamp_hours = 130 + 1_000 * (1 - number)

    def exposure(self):
        return 0.04 if self.position < self.lamp_hours else 0.025

    def __iter__(self):
        return self

    def __next__(self):
        if self.position == self.length:
            raise StopIteration
        time.sleep(0.055 + 0.015 * torch.rand(1, generator=self.generator).item())
        chute = torch.randint(0, CHUTES, (16,), generator=self.generator)
        pictures = torch.randn(16, FEATURES, generator=self.generator)
        pictures[torch.arange(16), chute] += 2.0
        exposure = self.exposure()
        self.position += 1
        return pictures * (exposure / 0.04), chute, exposure
