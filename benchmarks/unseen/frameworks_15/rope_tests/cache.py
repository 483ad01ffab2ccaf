"""Features on disk, computed once and shared by the processes of a machine."""

import os
import pathlib
import time

import torch

POLL = 0.2


class FileLock:
    """A lock between processes: whoever creates the file has it."""

    def __init__(self, path):
        self.path = str(path)

    def acquire(self):
        while True:
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
                return
            except FileExistsError:
                time.sleep(POLL)

    def release(self):
        os.unlink(self.path)


class FeatureCache:
    """`get(key, compute)` loads the features of a key, or computes and stores them.

    Two processes may want the same key at the same time; the second one finds it stored when it gets the lock.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.hits = self.misses = 0

    def get(self, key, compute):
        path = self.folder / f"{key}.pt"
        if path.exists():
            self.hits += 1
            return torch.load(path)
        lock = FileLock(path.with_suffix(".lock"))
        lock.acquire()
        if not path.exists():
            self.misses += 1
            features = compute()
            part = path.with_suffix(".part")
            torch.save(features, part)
            part.rename(path)
        lock.release()
        return torch.load(path)
