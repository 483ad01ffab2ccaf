"""Readings of sundials against a clock, kept in an archive that is not always there at the first try."""

import logging
import time

import torch
from torch.utils.data import Dataset

log = logging.getLogger("dials")

QUANTITIES = 10


class ArchiveBusy(IOError):
    pass


class Archive:
    """Keeps readings by number. Some shelves are being copied and refuse the first requests."""

    def __init__(self, readings, busy):
        g = torch.Generator().manual_seed(12)
        self.inputs = torch.randn(readings, QUANTITIES, generator=g)
        season, hour = self.inputs[:, 0], self.inputs[:, 1]
        self.minutes = 7 * torch.sin(2 * season) + 2 * hour + 0.3 * torch.randn(readings, generator=g)
        self.refusals = dict(busy)

    def __len__(self):
        return len(self.inputs)

    def fetch(self, number):
        if self.refusals.get(number, 0) > 0:
            self.refusals[number] -= 1
            raise ArchiveBusy(f"reading {number}: shelf is being copied")
        return self.inputs[number], self.minutes[number]


class Readings(Dataset):
    def __init__(self, archive, tries=5, pause=0.5):
        self.archive = archive
        self.tries = tries
        self.pause = pause

    def __len__(self):
        return len(self.archive)

    def __getitem__(self, number):
        for attempt in range(self.tries):
            try:
                return self.archive.fetch(number)
            except ArchiveBusy as problem:
                wait = self.pause * 2**attempt
                log.warning("%s; again in %.1f s", problem, wait)
                time.sleep(wait)
        raise RuntimeError(f"reading {number} cannot be had")
