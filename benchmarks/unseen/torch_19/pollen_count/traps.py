"""Air samples of three pollen traps; a trap has as many samples as there were dry hours."""
import torch
from torch.utils.data import Dataset

KINDS = ("birch", "hazel", "grass", "mugwort", "ragweed", "alder")
DRY_HOURS = {0: 2080, 1: 2640, 2: 2608}


class Trap(Dataset):
    """Weather of the last hours, and the counts of each kind in the hour after them."""

    def __init__(self, number, features=18):
        self.number = number
        hours = DRY_HOURS[number % len(DRY_HOURS)]
        random = torch.Generator().manual_seed(40 + number)
        shared = torch.Generator().manual_seed(4)
        bloom = torch.randn(features, len(KINDS), generator=shared) * 0.4
        self.weather = torch.randn(hours, features, generator=random)
        rate = torch.exp(self.weather @ bloom - 0.5 + 0.1 * number)
        self.counts = torch.poisson(rate.clamp(max=40.0), generator=random)

    def __len__(self):
        return len(self.weather)

    def __getitem__(self, hour):
        return self.weather[hour], self.counts[hour]


def held_out(features=18, hours=300):
    random = torch.Generator().manual_seed(99)
    shared = torch.Generator().manual_seed(4)
    bloom = torch.randn(features, len(KINDS), generator=shared) * 0.4
    weather = torch.randn(hours, features, generator=random)
    return weather, torch.poisson(torch.exp(weather @ bloom - 0.5).clamp(max=40.0), generator=random)
