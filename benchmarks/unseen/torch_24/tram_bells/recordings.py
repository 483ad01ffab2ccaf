"""Recordings of tram bells at the stops of a line, fetched from a slow archive."""
import time

import torch
from torch.utils.data import Dataset

SAMPLES, KINDS = 32, 4


class ArchiveBusy(Exception):
    pass


class Archive:
    """The archive answers at once, as a rule; some recordings lie on a tape that must be found first."""

    def __init__(self, stop, on_tape):
        self.stop = stop
        self.on_tape = dict(on_tape)

    def fetch(self, number):
        if self.on_tape.get(number, 0):
            self.on_tape[number] -= 1
            raise ArchiveBusy(f"recording {number} of stop {self.stop}")
        g = torch.Generator().manual_seed(10_000 * self.stop + number)
        kind = torch.randint(0, KINDS, (1,), generator=g).item()
        t = torch.arange(SAMPLES) / SAMPLES
        wave = torch.sin(6.3 * (kind + 2) * t) + 0.4 * torch.randn(SAMPLES, generator=g)
        return wave, kind


class Recordings(Dataset):
    def __init__(self, archive, count, attempts=4, wait=0.6):
        self.archive = archive
        self.count = count
        self.attempts = attempts
        self.wait = wait

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        for attempt in range(self.attempts):
            try:
                return self.archive.fetch(number)
            except ArchiveBusy:
                time.sleep(self.wait * 2 ** attempt)
        return self.archive.fetch(number)
