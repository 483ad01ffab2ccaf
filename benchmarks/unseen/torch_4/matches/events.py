"""Ball events of recorded matches, read back from slow tape."""
import time

import torch
from torch.utils.data import IterableDataset


class MatchTape(IterableDataset):
    def __init__(self, stadium, events, mount=0.0):
        self.stadium = stadium
        self.events = events
        self.mount = mount
        self.position = 0

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.position = state["position"]

    def _mount(self):
        ready = time.monotonic() + self.mount
        while time.monotonic() < ready:
            time.sleep(0.1)

    def __iter__(self):
        self._mount()
        for i in range(self.position, self.events):
            time.sleep(0.02)
            g = torch.Generator().manual_seed(1000 * self.stadium + i)
            where = torch.rand(6, generator=g)
            self.position = i + 1
            yield where, (where[0] > 0.5).long()
