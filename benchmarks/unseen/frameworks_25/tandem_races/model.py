"""Lap times of tandem pairs: from the riders, and from the wind where it was measured."""

import torch
from torch import nn

RIDERS = 8
WIND = 3


class LapModel(nn.Module):
    """The wind corrects the prediction for laps on which the anemometer ran."""

    def __init__(self, width=24):
        super().__init__()
        self.pair = nn.Sequential(nn.Linear(RIDERS, width), nn.Tanh(), nn.Linear(width, 1))
        self.wind = nn.Sequential(nn.Linear(WIND, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, riders, wind, measured):
        lap = self.pair(riders).squeeze(-1)
        if measured.any():
            correction = self.wind(wind[measured]).squeeze(-1)
            lap = lap.index_add(0, measured.nonzero().squeeze(-1), correction)
        return lap


class Season:
    """Laps of one velodrome, in the order in which they were ridden.

    The anemometer of a velodrome runs on most laps; it is switched off for the closing heats of a wet meeting.
    """

    def __init__(self, velodrome, meetings, laps, wet=()):
        self.velodrome = velodrome
        self.meetings = meetings
        self.laps = laps
        self.wet = frozenset(wet)
        self.skill = torch.randn(RIDERS, generator=torch.Generator().manual_seed(0)) / RIDERS**0.5

    def meeting(self, number, batch, closing=8):
        g = torch.Generator().manual_seed(self.velodrome * 1009 + number)
        riders = torch.randn(self.laps, RIDERS, generator=g)
        wind = torch.randn(self.laps, WIND, generator=g)
        measured = torch.rand(self.laps, generator=g) < 0.7
        if number in self.wet:
            measured[-closing:] = False
        lap = riders @ self.skill + 0.3 * wind[:, 0] + 0.1 * torch.randn(self.laps, generator=g)
        return zip(*(column.split(batch) for column in (riders, wind, measured, lap)))
