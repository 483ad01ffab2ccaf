import os
import time

import torch
from torch.utils.data import Dataset, get_worker_info


class Recorder:
    """The index of a recorder's card is read when a worker opens it; a card in an old reader takes its time."""

    def __init__(self, site, delay):
        time.sleep(delay)
        self.offset = 1000 * site


class BatCalls(Dataset):
    DELAYS = (0.3, 4.0, 0.3)

    def __init__(self, site, count, bins):
        self.site, self.count, self.bins = site, count, bins
        self.recorder = None

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.recorder is None:
            self.recorder = Recorder(self.site, self.DELAYS[self.site])
        g = torch.Generator().manual_seed(self.recorder.offset + index)
        species = index % 4
        spectrum = torch.randn(self.bins, generator=g)
        spectrum[species * 4 : species * 4 + 4] += 1.5
        return spectrum, species


def announce(worker):
    info = get_worker_info()
    torch.set_num_threads(1)
    print(f"site {info.dataset.site}: reader {worker} has process {os.getpid()}", flush=True)
