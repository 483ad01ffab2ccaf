"""Weighing of figs in orchards; every process fetches the days of its own orchard."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

FEATURES = 9


class GatewayError(OSError):
    pass


class Gateway:
    """Access to an orchard's scales by radio, which does not always answer."""

    def __init__(self, orchard):
        self.orchard, self.calls = orchard, 0
        self.random = random.Random(orchard)

    def fetch(self, day):
        self.calls += 1
        time.sleep(0.045 + 0.025 * self.random.random())
        if self.orchard == 1 and day % 90 == 70 and self.calls % 4 != 0:
            raise GatewayError(f"orchard {self.orchard} does not answer")
        generator = torch.Generator().manual_seed(7_000 * self.orchard + day)
        figs = torch.randn(12, FEATURES, generator=generator)
        return figs, figs[:, :3].sum(1, keepdim=True).sigmoid()


class Days(Dataset):
    """The days of an orchard; a day that does not arrive is asked for again, later and later."""

    LENGTHS = (170, 152, 161)

    def __init__(self, orchard, attempts=5):
        self.gateway, self.attempts = Gateway(orchard), attempts
        self.days = self.LENGTHS[orchard % len(self.LENGTHS)]

    def __len__(self):
        return self.days

    def __getitem__(self, day):
        for attempt in range(self.attempts):
            try:
                return self.gateway.fetch(day)
            except GatewayError:
                time.sleep(0.3 * (attempt + 1))
        raise GatewayError(f"gave up after {self.attempts} attempts")


def day_loader(orchard):
    return DataLoader(Days(orchard), batch_size=None)
