import random
import time

import torch

MFCC = 26
REGIONS = 5


class TapeTorn(OSError):
    pass


class Archive:
    """Recordings of an archive: some regions, and for some recordings also the speaker's age group."""

    def __init__(self, shelf, batch):
        self.shelf, self.batch = shelf, batch
        self.pace = random.Random(shelf)
        self.torn = {(1, 100), (2, 180), (2, 181)}
        self.undated = {(0, 90), (1, 150), (1, 260), (2, 350)}

    def play(self, number):
        time.sleep(self.pace.uniform(0.045, 0.065))
        if (self.shelf, number) in self.torn:
            self.torn.remove((self.shelf, number))
            raise TapeTorn(f"shelf {self.shelf}, tape {number}")
        generator = torch.Generator().manual_seed(self.shelf * 10_000 + number)
        region = torch.randint(0, REGIONS, (self.batch,), generator=generator)
        age = torch.randint(0, REGIONS, (self.batch,), generator=generator)
        sound = torch.randn(self.batch, MFCC, generator=generator)
        sound[torch.arange(self.batch), region] += 2.0
        sound[torch.arange(self.batch), MFCC - 1 - age] += 2.0
        dated = torch.full((self.batch,), (self.shelf, number) not in self.undated)
        return sound, region, age, dated

    def recordings(self, count):
        for number in range(count):
            try:
                yield self.play(number)
            except TapeTorn:
                time.sleep(0.8)
                yield self.play(number)
