"""Photographic plates of the sky, and the index of each process that is built from them."""

import fcntl
import logging
import os
import time

import torch

log = logging.getLogger("atlas")

PIXELS = 36
CLASSES = 4


def plates(count, seed):
    """Small cutouts around a source: a star, a double star, a galaxy, or a scratch."""
    g = torch.Generator().manual_seed(seed)
    shapes = torch.randn(CLASSES, PIXELS, generator=torch.Generator().manual_seed(0))
    kinds = torch.randint(CLASSES, (count,), generator=g)
    return shapes[kinds] + 2.2 * torch.randn(count, PIXELS, generator=g), kinds


class TapeDrive:
    """The only drive of the observatory: whoever holds the lock on its file may read, the others ask again."""

    def __init__(self, path, ask_every=0.2):
        self.path = path
        self.ask_every = ask_every

    def __enter__(self):
        self.file = open(self.path, "a")
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return self
            except BlockingIOError:
                time.sleep(self.ask_every)

    def __exit__(self, *exc):
        fcntl.flock(self.file, fcntl.LOCK_UN)
        self.file.close()


def read_plates(drive, count, rank, seconds=3.0):
    """Reads the plates of one process through the drive."""
    began = time.monotonic()
    with drive:
        waited = time.monotonic() - began
        time.sleep(seconds)  # winding
        cutouts, kinds = plates(count, seed=50 + rank)
    log.info("process %d waited %.1f s for the drive", rank, waited)
    return cutouts, kinds


def publish(folder, name, payload, attempts=4):
    """Puts a file on the server, which is often busy: each attempt waits longer than the one before."""
    target = os.path.join(folder, name)
    for attempt in range(1, attempts + 1):
        try:
            if attempt < 3:
                raise ConnectionError("server is busy")
            torch.save(payload, target)
            return attempt
        except ConnectionError as error:
            log.info("%s: %s, attempt %d", name, error, attempt)
            time.sleep(2.0 * attempt)
    raise RuntimeError(f"{name} was not published")
