"""Reels of an archive of nitrate film, read frame by frame by the workers of a loader."""

import multiprocessing as mp
from dataclasses import dataclass

import torch
from torch.utils.data import IterableDataset, get_worker_info

PIXELS = 30


@dataclass(frozen=True)
class Reel:
    number: int
    frames: int


# What lies on the shelves of each vault: 480 frames on each.
VAULTS = (
    [Reel(10, 96), Reel(11, 128), Reel(12, 104), Reel(13, 72), Reel(14, 40), Reel(15, 40)],
    [Reel(20, 96), Reel(21, 128), Reel(22, 104), Reel(23, 72), Reel(24, 32), Reel(25, 48)],
    [Reel(30, 120), Reel(31, 80), Reel(32, 64), Reel(33, 96), Reel(34, 56), Reel(35, 64)],
)


class Gate:
    """The film gate of a vault's scanner takes one frame at a time. Its users take turns, so that the order of the
    frames, and with it the batches, is the same in every run."""

    def __init__(self, users):
        self.users = users
        self.free = mp.Condition()
        self.turn = mp.Value("i", 0, lock=False)

    def scan(self, user, frame):
        with self.free:
            self.free.wait_for(lambda: self.turn.value == user)
            picture = frame()
            self.turn.value = (user + 1) % self.users
            self.free.notify_all()
        return picture


class Frames(IterableDataset):
    def __init__(self, vault, workers):
        self.reels = VAULTS[vault]
        self.gate = Gate(workers)
        self.weights = torch.randn(PIXELS, generator=torch.Generator().manual_seed(0)) / PIXELS**0.5

    def picture(self, reel, frame):
        g = torch.Generator().manual_seed(reel.number * 1000 + frame)
        pixels = torch.randn(PIXELS, generator=g)
        decay = pixels @ self.weights + 0.3 * torch.randn((), generator=g)
        return pixels, decay

    def __iter__(self):
        worker = get_worker_info()
        for reel in self.reels[worker.id :: worker.num_workers]:
            for number in range(reel.frames):
                yield self.gate.scan(worker.id, lambda: self.picture(reel, number))
