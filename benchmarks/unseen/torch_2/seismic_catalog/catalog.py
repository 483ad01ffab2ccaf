import threading
import time

import torch
from torch.utils.data import Dataset


class StationCatalog:
    """Station corrections, refreshed in the background from the network operator's bulletin."""

    def __init__(self, stations=40):
        self._guard = threading.Lock()
        self._corr = torch.zeros(stations)
        self.version = 0

    def refresh(self, entries, began):
        with self._guard:
            began.set()
            for i in range(entries):
                self._corr[i % len(self._corr)] += 0.001
                time.sleep(0.02)          # parsing one bulletin entry
            self.version += 1

    def refresh_in_background(self, entries):
        began = threading.Event()
        t = threading.Thread(target=self.refresh, args=(entries, began), daemon=True)
        t.start()
        began.wait()
        return t

    def correction(self, station):
        with self._guard:  # a refresh may be under way
            return float(self._corr[station])


class Waveforms(Dataset):
    def __init__(self, catalog, n, seed):
        self.catalog, self.n, self.seed = catalog, n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        trace = torch.randn(3, 64, generator=g)
        shift = self.catalog.correction(i % 40)
        return trace + shift, torch.tensor(float(i % 2))
