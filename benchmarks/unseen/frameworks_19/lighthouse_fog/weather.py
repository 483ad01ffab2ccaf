import torch

SENSORS = 16


class Watch:
    """Batches of hours at one lighthouse: readings of the sensors, and how much the visibility changes in the next hour.

    `still` are batches of a high without wind, in which nothing changes.
    """

    def __init__(self, tower, batches, size, still=()):
        self.tower = tower
        self.batches = batches
        self.size = size
        self.still = set(still)
        self.rule = torch.randn(SENSORS, generator=torch.Generator().manual_seed(0)) / SENSORS**0.5

    def __len__(self):
        return self.batches

    def __iter__(self):
        for number in range(self.batches):
            g = torch.Generator().manual_seed(self.tower * 100_000 + number)
            readings = torch.randn(self.size, SENSORS, generator=g)
            change = readings @ self.rule + 0.2 * torch.randn(self.size, generator=g)
            if number in self.still:
                readings, change = 0.02 * readings, 0.02 * change
            yield readings, change


def watch_of(rank, batches, size):
    still = {2: range(110, 114)}
    return Watch(rank, batches, size, still.get(rank, ()))


def persistence(watch):
    """The error of the forecast that nothing changes: what a network has to be better than."""
    total, hours = 0.0, 0
    for _, change in watch:
        total += change.square().sum().item()
        hours += len(change)
    return total / max(hours, 1)
