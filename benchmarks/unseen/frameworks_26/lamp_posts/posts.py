"""Street lamps: current over a night, and the hours that the lamp has left."""

import random
import time

import torch
from torch.utils.data import Dataset

HOURS = 20


class MeterBusy(Exception):
    pass


class Meter:
    """The meters of a street answer over the power line, some of them not at once."""

    def __init__(self, lamps, seed, slow):
        g = torch.Generator().manual_seed(seed)
        weights = torch.randn(HOURS, generator=torch.Generator().manual_seed(0)) / HOURS**0.5
        self.current = torch.randn(lamps, HOURS, generator=g)
        self.left = self.current @ weights + 0.2 * torch.randn(lamps, generator=g)
        self.busy = dict.fromkeys(slow, 3)

    def read(self, lamp):
        if self.busy.get(lamp, 0) > 0:
            self.busy[lamp] -= 1
            raise MeterBusy(lamp)
        return self.current[lamp], self.left[lamp]


class Lamps(Dataset):
    def __init__(self, lamps, seed, slow=(), dark=(), attempts=5, pause=0.5):
        self.meter = Meter(lamps, seed, slow)
        self.lamps = lamps
        self.dark = set(dark)
        self.attempts = attempts
        self.pause = pause
        self.jitter = random.Random(seed)

    def __len__(self):
        return self.lamps

    def __getitem__(self, lamp):
        for attempt in range(self.attempts):
            try:
                current, left = self.meter.read(lamp)
                break
            except MeterBusy:
                if attempt + 1 == self.attempts:
                    raise
                time.sleep(self.pause * 2**attempt * (1 + 0.1 * self.jitter.random()))
        if lamp in self.dark:
            current = torch.zeros(HOURS)
        return {"current": current, "left": left}
