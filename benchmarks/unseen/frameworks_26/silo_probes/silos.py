"""Probes in grain silos: temperature, humidity and gas in each layer, and the loss of weight that followed."""

from dataclasses import dataclass

import torch

LAYERS = 16
GRAINS = ("wheat", "barley", "rye", "oats", "millet")


@dataclass
class Reading:
    layers: torch.Tensor
    loss: torch.Tensor
    grain: str
    curve: torch.Tensor | None = None  # drying curve, if the probe has one for its grain


class Silo:
    """Batches of readings of one silo, as many for every silo and season.

    Probes of the newer kind have been calibrated at the works and send the drying curve of their grain along.
    """

    NEW_PROBES = {1: "oats"}

    def __init__(self, number, batches, batch):
        self.number = number
        self.batches = batches
        self.batch = batch
        self.weights = torch.randn(LAYERS, generator=torch.Generator().manual_seed(0)) / LAYERS**0.5

    def season(self, season):
        for i in range(self.batches):
            g = torch.Generator().manual_seed(self.number * 100_000 + season * 1000 + i)
            layers = torch.randn(self.batch, LAYERS, generator=g)
            loss = layers @ self.weights + 0.2 * torch.randn(self.batch, generator=g)
            grain = GRAINS[(season + i // 10) % len(GRAINS)]
            curve = None
            if grain == self.NEW_PROBES.get(self.number) and i % 10 == 4:
                curve = torch.linspace(1.0, 0.4, LAYERS)
            yield Reading(layers, loss, grain, curve)
