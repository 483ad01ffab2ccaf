"""Rate of a tower clock from temperature, pressure and the age of its oil."""
import torch

CLOCKS = ("minster", "town hall", "station")
# days of readings that come in per round of training, by clock
READINGS = (12, 30, 20)


class Clock:
    def __init__(self, number, features=9):
        self.name = CLOCKS[number]
        shared = torch.Generator().manual_seed(7)
        self.law = torch.randn(features, generator=shared)
        self.random = torch.Generator().manual_seed(90 + number)
        self.features = features
        self.days = READINGS[number]

    def readings(self):
        for _ in range(self.days):
            x = torch.randn(24, self.features, generator=self.random)
            yield x, x @ self.law + 0.05 * x[:, 0].pow(2)
