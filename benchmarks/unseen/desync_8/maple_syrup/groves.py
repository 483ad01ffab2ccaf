"""Sap of sugar maples: hours of the groves from the end of winter until the buds break."""

import time
from dataclasses import dataclass, field

import torch
from torch.utils.data import DataLoader, Dataset

SENSORS = 7
HOURS_A_DAY = 24
DAYS = 100


@dataclass
class Grove:
    name: str
    bud_break: dict = field(default_factory=dict)  # year -> day; the default is after the last day
    warmth: float = 0.0


GROVES = (Grove("lower field"), Grove("south slope", {1: 50}, warmth=0.4))


class Season(Dataset):
    """A season of a grove; an item is a day."""

    def __init__(self, grove, year):
        self.grove, self.year = grove, year
        self.last = grove.bud_break.get(year, DAYS + 10)

    def __len__(self):
        return DAYS

    def __getitem__(self, day):
        time.sleep(0.055 + 0.02 * torch.rand(1).item())
        generator = torch.Generator().manual_seed(1000 * self.year + 10 * day + len(self.grove.name))
        sensors = torch.randn(HOURS_A_DAY, SENSORS, generator=generator)
        sensors[:, 0] += self.grove.warmth
        flow = sensors[:, 0] - 0.5 * sensors[:, 1].square() + 0.2 * torch.randn(HOURS_A_DAY, generator=generator)
        return {"day": day, "buds": day >= self.last, "sensors": sensors, "flow": flow}


def season_of(rank, year):
    return DataLoader(Season(GROVES[rank % len(GROVES)], year), batch_size=None)
