"""Flight logs of gliders: what the instruments show, and how fast the air rises."""

import time
from dataclasses import dataclass

import torch

CHANNELS = 12


@dataclass
class Stage:
    """A part of the curriculum: kind of country, most batches, and the loss that is good enough."""

    country: str
    limit: int
    enough: float


CURRICULUM = (
    Stage("plain", limit=90, enough=0.4),
    Stage("ridge", limit=240, enough=0.4),
    Stage("alps", limit=430, enough=0.4),
)

# Scatter of the climb in the logs of each club, by country; one club flies its ridge in wave lift, which is smooth.
SCATTER = {"plain": (1.0, 1.1, 1.0), "ridge": (1.1, 0.05, 1.2), "alps": (1.3, 1.2, 1.3)}


class Logbook:
    def __init__(self, club, batch_size):
        self.club, self.batch_size = club, batch_size
        self.generator = torch.Generator().manual_seed(club + 60)

    def batches(self, stage):
        scatter = SCATTER[stage.country][self.club % 3]
        for _ in range(stage.limit):
            time.sleep(0.025 + 0.015 * torch.rand(1, generator=self.generator).item())
            channels = 0.5 * torch.randn(self.batch_size, CHANNELS, generator=self.generator)
            climb = channels[:, 0] - channels[:, 1]
            climb = climb + scatter * torch.randn(self.batch_size, generator=self.generator)
            yield channels, climb
