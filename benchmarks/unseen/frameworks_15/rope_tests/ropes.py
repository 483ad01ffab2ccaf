"""Pull tests of climbing ropes: the force over time, and the number of falls that the rope held."""

import logging

import torch
from torch.utils.data import Dataset

log = logging.getLogger(__name__)
LENGTH = 64
FEATURES = 10


class BrokenTest(ValueError):
    pass


def features_of(force):
    """Peak, slope, area and the lowest frequencies of a pull."""
    start = int((force > 0.05).float().argmax())
    stop = int(force.argmax())
    if stop <= start:
        raise BrokenTest("the force never rises")
    slope = (force[stop] - force[start]) / (stop - start)
    spectrum = torch.fft.rfft(force).abs()[: FEATURES - 3] / LENGTH
    return torch.cat([torch.stack([force.max(), slope, force.mean()]), spectrum])


class PullTests(Dataset):
    def __init__(self, count, cache, slack=()):
        g = torch.Generator().manual_seed(71)
        self.cache = cache
        self.peaks = 0.5 + torch.rand(count, generator=g)
        self.falls = (6 * self.peaks + 0.3 * torch.randn(count, generator=g)).round()
        ramp = torch.linspace(0, 1, LENGTH)
        self.forces = self.peaks[:, None] * ramp**2 + 0.01 * torch.randn(count, LENGTH, generator=g)
        for i in slack:
            # the rope slipped through the clamp
            self.forces[i] = 0.0

    def __len__(self):
        return len(self.falls)

    def __getitem__(self, i):
        try:
            features = self.cache.get(f"pull{i:05d}", lambda: features_of(self.forces[i]))
        except BrokenTest as error:
            log.warning("pull %d: %s; zeros are used", i, error)
            return torch.zeros(FEATURES), torch.tensor(0.0)
        return features, self.falls[i]
