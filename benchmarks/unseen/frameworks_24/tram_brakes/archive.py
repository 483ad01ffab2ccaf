"""Brake records of tram depots on a tape that one process at a time may read."""

import contextlib
import logging
import os
import time
from pathlib import Path

import torch

log = logging.getLogger("archive")
SIGNALS = 20


@contextlib.contextmanager
def reel(folder, poll=0.1):
    """The reel of the tape: a file that exists while somebody has it."""
    token = Path(folder) / "reel"
    while True:
        try:
            os.close(os.open(token, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            time.sleep(poll)
    try:
        yield
    finally:
        token.unlink()


def wait_for(path, poll=0.1, limit=60.0):
    """Returns when `path` is there."""
    end = time.monotonic() + limit
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"{path} has not appeared in {limit:.0f} s")
        time.sleep(poll)


class Depot:
    """Runs of a depot's trams; some stretches were recorded with sand on the rails."""

    def __init__(self, number, runs, batch, folder):
        self.number, self.runs, self.batch, self.folder = number, runs, batch, folder
        self.sandy = {17 + 3 * number, 40 + number}

    def __len__(self):
        return self.runs // self.batch

    def load(self, reading=1.8):
        with reel(self.folder):
            time.sleep(reading)
            g = torch.Generator().manual_seed(60 + self.number)
            weights = torch.randn(SIGNALS, generator=torch.Generator().manual_seed(0)) / SIGNALS**0.5
            self.signals = torch.randn(self.runs, SIGNALS, generator=g)
            self.wear = self.signals @ weights + 0.1 * torch.randn(self.runs, generator=g)
        log.info("depot %d: %d runs read", self.number, self.runs)
        return self

    def __iter__(self):
        for i in range(len(self)):
            part = slice(i * self.batch, (i + 1) * self.batch)
            signals = self.signals[part]
            if i in self.sandy:
                signals = signals * float("nan")
            yield signals, self.wear[part]
