"""One strip of the valley and the embers that are above it."""
import torch

X, Y, SPEED, HEAT = range(4)


class Strip:
    def __init__(self, rank, count=240, dt=0.02, rain=None):
        self.rank, self.dt, self.rain = rank, dt, rain
        gen = torch.Generator().manual_seed(100 + rank)
        self.embers = torch.rand(count, 4, generator=gen)
        self.embers[:, X] += rank
        self.embers[:, SPEED] = 0.6 + 0.4 * self.embers[:, SPEED]
        self.embers[:, HEAT] = 1.0

    def advance(self, step, gust):
        e = self.embers
        e[:, X] += e[:, SPEED] * self.dt * gust
        e[:, Y] += 0.01 * torch.randn(len(e))
        if self.rain is not None and step >= self.rain:
            e[:, HEAT] *= 0.4                    # a shower puts them out within a few steps
        else:
            e[:, HEAT] = 0.5 + 0.5 * e[:, HEAT]  # dry grass feeds them

    def leavers(self):
        out = self.embers[:, X] >= self.rank + 1
        gone, self.embers = self.embers[out], self.embers[~out]
        return gone

    def add(self, embers, world):
        # the valley is a ring road: what leaves the last strip comes in at the first
        embers[:, X] = embers[:, X] % 1.0 + self.rank
        self.embers = torch.cat([self.embers, embers])
