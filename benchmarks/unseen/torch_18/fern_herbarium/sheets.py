"""Scans of herbarium sheets, on a store that is sometimes busy."""
import logging
import time

import torch
from torch.utils.data import Dataset

log = logging.getLogger("herbarium")


class Busy(OSError):
    pass


class ScanStore:
    """The scans of one cabinet. Some drawers are being photographed again and answer only after a while."""

    def __init__(self, busy, seed):
        self.refusals = dict(busy)
        self.seed = seed

    def read(self, index):
        if self.refusals.get(index, 0) > 0:
            self.refusals[index] -= 1
            raise Busy(f"drawer of sheet {index} is in use")
        g = torch.Generator().manual_seed(self.seed * 10_000 + index)
        fronds = int(torch.randint(0, 5, (1,), generator=g))
        return torch.randn(30, generator=g) * 0.4 + fronds * torch.linspace(-1, 1, 30), fronds


class Sheets(Dataset):
    """Reads with up to six attempts; pauses are doubled from one to the next."""

    def __init__(self, count, store, pause=0.4):
        self.count = count
        self.store = store
        self.pause = pause

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        pause = self.pause
        for _ in range(5):
            try:
                return self.store.read(index)
            except Busy as error:
                log.info("%s, again in %.1f s", error, pause)
                time.sleep(pause)
                pause *= 2
        return self.store.read(index)
