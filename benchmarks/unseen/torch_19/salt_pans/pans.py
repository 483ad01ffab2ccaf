"""Salt pans: how much salt is raked on a day, by sun, wind, rain and the depth of the brine."""
import torch

# salt raked per day, in loads, by the crew of each pan
CREWS = ((7, 8, 8, 9, 9), (5, 9, 5, 8, 8), (9, 5, 4, 6, 4), (9, 4, 8, 6, 7))


class Pan:
    """A day's rakings are the training samples of that day."""

    def __init__(self, number, features):
        self.number = number
        shared = torch.Generator().manual_seed(12)
        self.law = torch.randn(features, generator=shared)
        self.random = torch.Generator().manual_seed(50 + number)
        self.crew = CREWS[number % len(CREWS)]
        self.features = features

    def loads(self, day):
        return self.crew[day % len(self.crew)]

    def day(self, day):
        x = torch.randn(8 * self.loads(day), self.features, generator=self.random)
        y = torch.tanh(x @ self.law) + 0.1 * torch.randn(len(x), generator=self.random)
        return x, y
