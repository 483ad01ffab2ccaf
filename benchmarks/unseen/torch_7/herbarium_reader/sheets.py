import random
import time

import torch
from torch.utils.data import Dataset


class Busy(OSError):
    pass


class Scanner:
    """The museum's image server: it answers slowly, and now and then asks to come again."""

    def __init__(self, museum):
        self.museum = museum
        self.rng = random.Random(museum)

    def fetch(self, sheet, attempt):
        if self.museum == 1 and sheet % 16 == 5 and attempt < 3:
            raise Busy(f"sheet {sheet}: come back later")
        for _ in range(8 if self.museum == 1 else 1):      # chunks
            time.sleep(0.02)
        return torch.full((3, 12, 12), (sheet % 7) / 7) + 0.05 * self.rng.random()


def with_patience(call, *args, first=0.4, most=6):
    pause = first
    for attempt in range(most):
        try:
            return call(*args, attempt)
        except Busy:
            time.sleep(pause)
            pause *= 2
    raise TimeoutError(args)


class Sheets(Dataset):
    def __init__(self, museum, n):
        self.scanner, self.n = Scanner(museum), n

    def __len__(self):
        return self.n

    def __getitem__(self, k):
        return with_patience(self.scanner.fetch, k), k % 7
