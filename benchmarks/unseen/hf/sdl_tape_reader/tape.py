"""Seismic traces from a tape drive, record by record."""
import random
import time

import torch
from torch.utils.data import IterableDataset


class DriveBusy(OSError):
    pass


class TapeDrive:
    def __init__(self, number):
        self.number = number
        self.rng = random.Random(number)
        self.refusals = 3

    def wind(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)

    def read(self, record):
        if record % 150 == 149 and self.refusals:
            self.refusals -= 1
            raise DriveBusy(f"drive {self.number}")
        time.sleep(0.012)
        return [self.rng.gauss(0, 1) for _ in range(64)]


class Traces(IterableDataset):
    """Stateful: resumes at the record at which it was saved."""

    def __init__(self, number, records, wind):
        self.number, self.records, self.wind = number, records, wind
        self.position = 0

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.position = state["position"]

    def _patiently(self, drive, record):
        pause = 0.2
        while True:
            try:
                return drive.read(record)
            except DriveBusy:
                time.sleep(pause)
                pause *= 2

    def __iter__(self):
        drive = TapeDrive(self.number)
        drive.wind(self.wind)
        while self.position < self.records:
            trace = self._patiently(drive, self.position)
            self.position += 1
            yield torch.tensor(trace)
        self.position = 0
