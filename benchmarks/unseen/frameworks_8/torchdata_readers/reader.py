"""Reads time series from a slow archive in small pieces."""
import time

import torch
from torch.utils.data import Dataset


class ArchiveFile:
    def __init__(self, delay):
        self.delay = delay

    def read(self, start, count):
        out = []
        for k in range(count):
            out.append(float((start * 31 + k * 7) % 100) / 50 - 1)
            if self.delay:
                time.sleep(self.delay)
        return out


class TideGauges(Dataset):
    """The files of one station are on tape and come slowly the first time they are read."""

    def __init__(self, station, n=160, window=24, cold=range(64, 96)):
        self.n, self.window = n, window
        self.cold = set(cold) if station == 1 else set()
        self.warm_file, self.tape = ArchiveFile(0), ArchiveFile(0.03)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        source = self.tape if i in self.cold else self.warm_file
        series = torch.tensor(source.read(i, self.window + 1))
        return series[:-1], series[-1:]
