"""Camera traps on the trails: which of the animals was there, by features of a short film."""

import time

import torch
from torch.utils.data import Dataset

ANIMALS = ("tapir", "peccary", "agouti", "ocelot")
FEATURES = 20


class Busy(OSError):
    pass


class Films(Dataset):
    """Films lie on a recorder that now and then has no time; it is asked again after a pause that doubles."""

    def __init__(self, count, seed, busy=None):
        self.seed = seed
        self.busy = dict(busy or {})
        g = torch.Generator().manual_seed(seed)
        centres = torch.randn(len(ANIMALS), FEATURES, generator=torch.Generator().manual_seed(77))
        self.labels = torch.randint(len(ANIMALS), (count,), generator=g)
        self.features = centres[self.labels] + torch.randn(count, FEATURES, generator=g)

    def __len__(self):
        return len(self.labels)

    def fetch(self, i):
        if self.busy.get(i, 0) > 0:
            self.busy[i] -= 1
            raise Busy(f"film {i}")
        return self.features[i], self.labels[i]

    def __getitem__(self, i):
        pause = 0.5
        while True:
            try:
                return self.fetch(i)
            except Busy:
                time.sleep(pause)
                pause *= 2
