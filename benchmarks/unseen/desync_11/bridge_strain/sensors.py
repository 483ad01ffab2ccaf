import time

import torch
from torch.utils.data import Dataset

CHANNELS = 20


class BusBusy(OSError):
    pass


class Windows(Dataset):
    """Windows of strain from the sensors of a bridge; reading the bus fails now and then and is tried again."""

    def __init__(self, windows, attempts=8, rest=0.05):
        self.windows, self.attempts, self.rest = windows, attempts, rest
        self.failures = 0

    def __len__(self):
        return self.windows

    def read(self, window, attempt):
        if attempt < window % 41 - 36:
            raise BusBusy(f"window {window}, attempt {attempt}")
        generator = torch.Generator().manual_seed(window)
        strain = torch.randn(10, CHANNELS, generator=generator)
        if window % 59 == 17:  # a lorry over the joint saturates the amplifiers
            strain[0] = float("inf")
        load = strain[:, :4].sum(dim=1) + 0.1 * torch.randn(10, generator=generator)
        return strain, load

    def __getitem__(self, window):
        time.sleep(0.025 + 0.02 * ((window * 7) % 10) / 10)
        for attempt in range(self.attempts):
            try:
                return self.read(window, attempt)
            except BusBusy:
                self.failures += 1
                time.sleep(self.rest)
        raise BusBusy(f"window {window} cannot be read")
