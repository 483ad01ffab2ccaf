"""Dives along transects through a kelp forest; the plants are counted by height in every zone of depth."""

import time

import torch

HEIGHTS = 12
ZONES = ("shallow", "middle", "deep")
DEPTHS = {"shallow": 6.0, "middle": 14.0, "deep": 22.0}


class Diver:
    """The dives of one team; a dive goes down to the depth for which there is air."""

    def __init__(self, team):
        self.team = team
        self.generator = torch.Generator().manual_seed(40 + team)
        self.dives = 0
        self.leaking_regulator = {3: {136}}

    def reach(self):
        if self.dives in self.leaking_regulator.get(self.team, ()):
            return 17.0
        return 24.0 + 3.0 * float(torch.rand(1, generator=self.generator))

    def dive(self):
        """Heights of the plants (in bins) by zone, and the light that came down there."""
        time.sleep(0.05 + 0.02 * float(torch.rand(1, generator=self.generator)))
        reach = self.reach()
        self.dives += 1
        counts, light = {}, {}
        for zone in ZONES:
            plants = torch.poisson(torch.full((HEIGHTS,), 30.0 / DEPTHS[zone]), generator=self.generator)
            if DEPTHS[zone] <= reach:
                counts[zone] = plants
                light[zone] = 1.0 / DEPTHS[zone]
        return counts, light
