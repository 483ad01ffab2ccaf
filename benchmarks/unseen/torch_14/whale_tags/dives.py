"""Dives of whales, as their tags have recorded them."""
from dataclasses import dataclass

import torch

SAMPLES = 32


@dataclass
class Dive:
    tag: int
    number: int
    profile: torch.Tensor
    feeding: bool


class Deployment:
    """All dives between the fixing of a tag and its loss.

    The pressure sensor of a tag is set to zero at the surface when it is fixed.
    """

    def __init__(self, tag, dives, season):
        self.tag, self.dives, self.season = tag, dives, season

    def offset(self, number):
        """What the sensor has drifted since then, in metres; cold seasons do so more."""
        return -0.02 * (self.season + 1) * number if self.tag == 1 and self.season >= 1 else 0.0

    def __iter__(self):
        generator = torch.Generator().manual_seed(100 * self.season + self.tag)
        time = torch.linspace(0.0, torch.pi, SAMPLES)
        for number in range(self.dives):
            feeding = bool(torch.rand(1, generator=generator) < 0.4)
            depth = 40.0 + 160.0 * torch.rand(1, generator=generator)
            lunges = 8.0 * torch.sin(6.0 * time).abs() if feeding else torch.zeros(SAMPLES)
            profile = 12.0 + depth * torch.sin(time) + lunges + self.offset(number)
            yield Dive(self.tag, number, profile, feeding)


def check(profiles):
    """A tag that is deeper than the sea or above its surface has lost its calibration."""
    if profiles.min() < 0.0:
        raise ValueError(f"depth of {profiles.min().item():.1f} m, is the sensor calibrated?")
    if profiles.max() > 1000.0:
        raise ValueError(f"depth of {profiles.max().item():.0f} m")
    return profiles / 100.0
