import torch
from torch.utils.data import IterableDataset

PER_DAY = 740
FEATURES = 12


class DepotOrders(IterableDataset):
    """The delivered orders of a depot, day after day; every iteration is the next day."""

    def __init__(self, depot, strikes):
        self.depot = depot
        self.strikes = strikes
        self.day = 0
        self.weights = torch.randn(FEATURES, generator=torch.Generator().manual_seed(0))

    def book(self, day):
        g = torch.Generator().manual_seed(10_000 * self.depot + day)
        features = torch.randn(PER_DAY, FEATURES, generator=g)
        minutes = features @ self.weights + 0.2 * torch.randn(PER_DAY, generator=g)
        held = 12 if day in self.strikes else 0
        for n in range(PER_DAY):
            yield {"features": features[n], "minutes": minutes[n], "cancelled": n < held or n % 370 == 0}

    def __iter__(self):
        day = self.day
        self.day += 1
        for order in self.book(day):
            if order["cancelled"]:
                continue
            yield order["features"], order["minutes"]
