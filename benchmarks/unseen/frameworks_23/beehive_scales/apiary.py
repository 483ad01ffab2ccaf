"""Hives on scales: what is recorded at each, and which of the apiaries can be compared with each other."""

from dataclasses import dataclass

import torch
import torch.distributed as dist

CHANNELS = 10


@dataclass(frozen=True)
class Apiary:
    name: str
    altitude: int
    hives: int
    foulbrood: bool = False


APIARIES = (
    Apiary("Lindenhof", 410, 14),
    Apiary("Mühlau", 455, 12),
    Apiary("Alpe Rona", 1690, 9),
)


def recordings(number, days, seed):
    """Weights and climate of a day, and the gain of the next one."""
    g = torch.Generator().manual_seed(seed + number)
    law = torch.randn(CHANNELS, generator=torch.Generator().manual_seed(seed)) / CHANNELS
    x = torch.randn(days, CHANNELS, generator=g) - APIARIES[number].altitude / 2000
    return x, x @ law + 0.1 * torch.randn(days, generator=g)


class Panel:
    """The apiaries of one altitude, within which gains are compared."""

    def __init__(self, fabric, width=500):
        self.fabric = fabric
        mine = APIARIES[fabric.global_rank].altitude
        self.members = [i for i, other in enumerate(APIARIES) if abs(other.altitude - mine) < width]
        self.group = None
        if len(self.members) > 1:
            self.group = dist.new_group(self.members)

    def compare(self, gain):
        """How far the gain is above the mean of the panel."""
        if self.group is None:
            return 0.0
        total = gain.clone()
        dist.all_reduce(total, group=self.group)
        return (gain - total / len(self.members)).item()
