"""Records of a falconry: photographs of wings (which moult stage?) and weighings (how heavy in a month?)."""

from dataclasses import dataclass

import torch
from torch.utils.data import TensorDataset

TRAITS = 24
STAGES = 4


@dataclass(frozen=True)
class Season:
    """How many records are held out in a season."""

    name: str
    moults: int
    masses: int


# one list per mews; birds are photographed through the year and weighed when flown
MEWS = [
    [Season("spring", 96, 200), Season("summer", 120, 240), Season("autumn", 160, 280), Season("winter", 160, 320)],
    [Season("spring", 80, 160), Season("summer", 112, 200), Season("autumn", 144, 240), Season("winter", 144, 240)],
    [Season("spring", 88, 120), Season("summer", 128, 144), Season("autumn", 176, 152), Season("winter", 184, 200)],
]


def moults(count, seed):
    g = torch.Generator().manual_seed(seed)
    prototypes = torch.randn(STAGES, TRAITS, generator=torch.Generator().manual_seed(0))
    stage = torch.randint(STAGES, (count,), generator=g)
    return TensorDataset(prototypes[stage] + 0.8 * torch.randn(count, TRAITS, generator=g), stage)


def masses(count, seed):
    g = torch.Generator().manual_seed(seed)
    weights = torch.randn(TRAITS, generator=torch.Generator().manual_seed(1)) / TRAITS**0.5
    traits = torch.randn(count, TRAITS, generator=g)
    return TensorDataset(traits, traits @ weights + 0.1 * torch.randn(count, generator=g))
