import time

import torch

LOADS = 16


class Meter:
    """Readings of one station: how many people stand on each of the escalators, and the current that the drives take."""

    def __init__(self, station, per_minute=20):
        self.station, self.per_minute = station, per_minute
        self.watts = torch.linspace(0.5, 2.0, LOADS)

    def maintenance(self, minute):
        return self.station == 1 and minute == 133

    def read(self, minute):
        generator = torch.Generator().manual_seed(6007 * self.station + minute)
        time.sleep(0.045 + 0.03 * torch.rand(1, generator=generator).item())
        people = torch.rand(self.per_minute, LOADS, generator=generator)
        surge = torch.rand(self.per_minute, generator=generator) < 0.2
        surge[0] = True
        if self.maintenance(minute):
            surge[:] = False
        current = people @ self.watts + 0.2 * torch.randn(self.per_minute, generator=generator)
        return people, current + 3.0 * surge, surge
