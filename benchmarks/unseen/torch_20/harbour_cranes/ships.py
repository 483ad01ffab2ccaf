"""Containers that a crane lifts; the three quays have unequal traffic."""
import time

import torch

TRAFFIC = (40, 70, 110)  # batches of a day, by quay


class StoreBusy(OSError):
    pass


class ManifestStore:
    """Where manifests lie. It is busy when a ship docks, and answers a few seconds later."""

    def __init__(self, quay):
        self.quay = quay
        self.docking = {(1, 1): 3, (2, 3): 4}
        self.refused = 0

    def fetch(self, day):
        key = (self.quay, day)
        if self.docking.get(key, 0) > 0:
            self.docking[key] -= 1
            self.refused += 1
            raise StoreBusy(f"manifest of day {day}")
        return 7000 * self.quay + day


def with_patience(call, *arguments, first=0.4, attempts=6):
    """Calls again after a pause that doubles each time."""
    pause = first
    for attempt in range(attempts):
        try:
            return call(*arguments)
        except StoreBusy:
            if attempt == attempts - 1:
                raise
            time.sleep(pause)
            pause *= 2


class Quay:
    def __init__(self, number, batch):
        self.number = number
        self.batch = batch
        self.store = ManifestStore(number)

    def day(self, day):
        """The batches of a day; the manifest is fetched with the first one."""
        seed = with_patience(self.store.fetch, day)
        g = torch.Generator().manual_seed(seed)
        for _ in range(TRAFFIC[self.number % len(TRAFFIC)]):
            x = torch.randn(self.batch, 7, generator=g)
            y = x[:, 0] * 0.5 - x[:, 1].abs() + 0.1 * torch.randn(self.batch, generator=g)
            yield x, y
