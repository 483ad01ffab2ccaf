"""Parcels on the scales of a depot: a force curve of sixteen samples, and whether the parcel was found damaged."""
import torch
from torch.utils.data import Dataset

# share of damaged parcels, by depot and weekday (the belts are serviced in turn)
DAMAGE = [
    [0.20, 0.18, 0.22, 0.15, 0.20, 0.25],
    [0.25, 0.20, 0.24, 0.19, 0.00, 0.21],
    [0.16, 0.20, 0.17, 0.23, 0.18, 0.20],
]


class Parcels(Dataset):
    """Parcels of one depot and day; `part` tells the training apart from the control sample."""

    def __init__(self, depot, day, count, part):
        shares = DAMAGE[depot % len(DAMAGE)]
        g = torch.Generator().manual_seed(1000 * day + 10 * depot + part)
        self.numbers = torch.arange(count) + 100_000 * depot + 1_000 * day
        self.damaged = torch.rand(count, generator=g) < shares[day % len(shares)]
        curve = torch.randn(count, 16, generator=g)
        bump = torch.zeros(16)
        bump[5:9] = 1.4
        self.curves = curve + self.damaged[:, None] * bump

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        return self.numbers[index], self.curves[index], self.damaged[index]


def training_day(depot, day, count=480):
    """What went over the scales on the day."""
    return Parcels(depot, day, count, part=0)


def control_sample(depot, day, count=120):
    """The parcels that were opened by hand on the day."""
    return Parcels(depot, day, count, part=1)
