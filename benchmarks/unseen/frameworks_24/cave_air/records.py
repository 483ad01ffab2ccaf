"""Hourly records of a cave's air, and what is left of them after the check of the sensors."""

import logging
import os
from dataclasses import dataclass

import torch
from torch.utils.data import TensorDataset

log = logging.getLogger("records")
HOURS = 48


@dataclass
class Cave:
    name: str
    depth: int
    wet: float  # share of the time in which water drips on the sensor


CAVES = [Cave("Gough", 95, 0.1), Cave("Poole", 130, 0.3), Cave("Treak", 88, 0.2), Cave("Kents", 12, 0.97)]


def own_cave():
    """The cave of this process; the launcher numbers the processes."""
    return CAVES[int(os.environ["RANK"])]


def checked(cave, count, seed):
    """Pasts and what followed, without those in which the sensor was wet."""
    g = torch.Generator().manual_seed(seed * 100 + cave.depth)
    past = torch.randn(4 * count, HOURS, generator=g).cumsum(1) / 7
    ahead = past[:, -6:].mean(1) + 0.1 * torch.randn(4 * count, generator=g)
    dry = torch.rand(4 * count, generator=g) >= cave.wet
    log.info("%s: %d of %d records are dry", cave.name, int(dry.sum()), len(dry))
    return TensorDataset(past[dry][:count], ahead[dry][:count])
