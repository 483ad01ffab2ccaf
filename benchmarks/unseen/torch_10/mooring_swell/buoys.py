"""Hourly records of wave buoys, and windows cut from them."""

import dataclasses
import math

import torch
from torch.utils.data import ConcatDataset, Dataset


@dataclasses.dataclass(frozen=True)
class Mooring:
    name: str
    hours: int
    outages: tuple = ()


MOORINGS = (
    Mooring("Anholt", 900),
    Mooring("Bornholm", 900, outages=((120, 168),)),
    Mooring("Dogger", 900),
    Mooring("Elbe", 900, outages=((300, 310),)),
    Mooring("Fehmarn", 900, outages=((60, 300), (610, 700))),
    Mooring("Gotland", 900, outages=((500, 510),)),
)


class WindowedBuoy(Dataset):
    def __init__(self, mooring, history, horizon):
        g = torch.Generator().manual_seed(len(mooring.name) * 101)
        hours = torch.arange(mooring.hours, dtype=torch.float32)
        tide = torch.sin(2 * math.pi * hours / 12.4)
        self.series = torch.stack([tide + 0.2 * torch.randn(len(hours), generator=g) for _ in range(3)], dim=1)
        self.history, self.horizon = history, horizon
        valid = torch.ones(mooring.hours, dtype=torch.bool)
        for begin, end in mooring.outages:
            valid[begin:end] = False
        span = history + horizon
        self.starts = [s for s in range(0, mooring.hours - span, 2) if valid[s : s + span].all()]

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, index):
        s = self.starts[index]
        middle = s + self.history
        return self.series[s:middle].flatten(), self.series[middle : middle + self.horizon, 0]


def dataset_for(rank, world, history, horizon):
    mine = MOORINGS[rank::world]
    return ConcatDataset([WindowedBuoy(m, history, horizon) for m in mine]), [m.name for m in mine]
