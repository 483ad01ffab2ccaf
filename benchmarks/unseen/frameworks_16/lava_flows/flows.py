"""Simulated thermal profiles of lava flows, one volcano for each process."""

from dataclasses import dataclass

import torch

DEPTHS = 24


@dataclass
class Volcano:
    name: str
    seed: int
    eruptions: tuple = ()


VOLCANOES = [
    Volcano("Poas", seed=1),
    Volcano("Arenal", seed=2),
    Volcano("Turrialba", seed=3, eruptions=(140, 171)),
    Volcano("Irazu", seed=4),
]


class Profiles:
    """Batches of temperature profiles and the viscosity measured at the front of the flow."""

    def __init__(self, volcano, batch):
        self.volcano = volcano
        self.batch = batch
        self.generator = torch.Generator().manual_seed(volcano.seed)
        self.law = torch.randn(DEPTHS, generator=torch.Generator().manual_seed(0)) / DEPTHS**0.5

    def __call__(self, step):
        profile = torch.randn(self.batch, DEPTHS, generator=self.generator)
        viscosity = profile @ self.law
        if step in self.volcano.eruptions:
            viscosity = viscosity * 12 + 20  # fresh magma at the front
        return profile, viscosity


class Average:
    """A running average that forgets slowly."""

    def __init__(self, decay=0.95):
        self.decay = decay
        self.value = None

    def update(self, x):
        self.value = x if self.value is None else self.decay * self.value + (1 - self.decay) * x
        return self.value
