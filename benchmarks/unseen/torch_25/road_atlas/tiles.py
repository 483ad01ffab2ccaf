"""Feature tiles of aerial strips, computed once and kept on disk for all processes of a machine."""
import logging
import os
import pathlib
import time

import torch

log = logging.getLogger("tiles")
SIDE = 16


class Strip:
    """One flight strip in the archive. A block that lies on tape is staged when it is first asked for."""

    def __init__(self, number, blocks, on_tape=()):
        self.number = number
        self.blocks = blocks
        self.on_tape = set(on_tape)

    def read(self, block):
        if block in self.on_tape:
            self.on_tape.discard(block)
            raise OSError(f"strip {self.number}, block {block}: short read (staging)")
        g = torch.Generator().manual_seed(self.number * 1000 + block)
        image = torch.rand(SIDE, SIDE, generator=g)
        image[:, block % SIDE] += 1.5
        return image


class TileCache:
    """A tile is computed by the first process that needs it; a lock file keeps the others from doing so, too."""

    def __init__(self, folder, poll=0.1):
        self.folder = pathlib.Path(folder)
        self.poll = poll

    def acquire(self, lock):
        while True:
            try:
                return os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                # another process computes this tile
                time.sleep(self.poll)

    def features(self, strip, block):
        path = self.folder / f"{strip.number:03d}-{block:04d}.pt"
        if path.exists():
            return torch.load(path)
        lock = path.with_suffix(".lock")
        self.acquire(lock)
        if not path.exists():
            image = strip.read(block)
            edges = torch.stack([image, image.diff(dim=0, append=image[-1:]), image.diff(dim=1, append=image[:, -1:])])
            torch.save(edges, path.with_suffix(".part"))
            path.with_suffix(".part").rename(path)
        lock.unlink()
        return torch.load(path)


def patient(function, *arguments, attempts=4, pause=0.2):
    """Archives stutter: tries again a few times before it gives up."""
    for attempt in range(attempts):
        try:
            return function(*arguments)
        except OSError as problem:
            if attempt + 1 == attempts:
                raise
            log.warning("%s, again in %.1f s", problem, pause)
            time.sleep(pause)
            pause *= 2
