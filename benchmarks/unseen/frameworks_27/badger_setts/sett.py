"""The ground around a sett: a row of patches with worms, that dry out during the season."""
import time

import torch

PATCHES = 70
ENTRANCE = 20
RAIN = [0.6, 0.4, 0.5, 0.2, 0.3, 0.7, 0.1]        # by weekday of the weather station


class Sett:
    def __init__(self, number):
        self.number = number
        self.noise = torch.Generator().manual_seed(number)
        self.nights = 0
        # the third sett lies on a slope, and its animals keep walking downhill
        self.slope = 1 if number == 2 else 0
        self.worms = torch.rand(PATCHES, generator=self.noise)
        self.place = ENTRANCE

    def dusk(self):
        time.sleep(0.1)                            # the simulator warms up its weather
        self.nights += 1
        self.place = ENTRANCE
        if self.nights > 70:
            self.place += self.slope * 40          # they have moved into the lower entrance
        self.worms = (self.worms + RAIN[self.nights % len(RAIN)] * 0.1).clamp(max=1.0)
        return self.view()

    def view(self):
        near = self.worms[self.place - 2:self.place + 3]
        near = torch.cat([near, torch.zeros(5 - len(near))])
        return torch.cat([near, torch.tensor([self.place / PATCHES])])

    def step(self, action):
        self.place = max(2, self.place + (-1, 0, 1, 2)[action] + self.slope)
        eaten = float(self.worms[self.place])
        self.worms[self.place] *= 0.5
        return self.view(), eaten
