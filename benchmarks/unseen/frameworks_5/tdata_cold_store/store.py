import time

import torch
from torch.utils.data import Dataset


class ColdStore(Dataset):
    """Seismograms on a tape library: the first access to a tape takes long."""

    PER_TAPE = 80

    def __init__(self, records, cold, polls=70, interval=0.1):
        self.records = records
        self.cold = set(cold)
        self.polls = polls
        self.interval = interval
        self.mounted = set()

    def __len__(self):
        return self.records

    def _mount(self, tape):
        if tape in self.mounted:
            return
        remaining = self.polls if tape in self.cold else 0
        while remaining > 0:
            time.sleep(self.interval)
            remaining -= 1
        self.mounted.add(tape)

    def __getitem__(self, index):
        self._mount(index // self.PER_TAPE)
        g = torch.Generator().manual_seed(index)
        trace = torch.randn(32, generator=g)
        return trace, trace.abs().max()
