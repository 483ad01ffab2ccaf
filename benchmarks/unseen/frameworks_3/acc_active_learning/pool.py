import logging
import time

import torch

log = logging.getLogger("pool")


class UnlabeledPool:
    def __init__(self, n, dim, seed=17):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, dim, generator=g)
        self.truth = (self.x[:, :4].sum(1) > 0).long()
        self.free = torch.ones(n, dtype=torch.bool)

    def take(self, idx):
        self.free[idx] = False
        return self.x[idx], self.truth[idx]


class AnnotationDesk:
    """Stands for the labelling service: rows are handed in one by one and come back after review."""

    def __init__(self, seconds_per_item=0.5):
        self.seconds_per_item = seconds_per_item

    def submit(self, idx):
        for n, i in enumerate(idx.tolist(), start=1):
            deadline = time.monotonic() + self.seconds_per_item
            while time.monotonic() < deadline:      # poll the ticket
                time.sleep(0.1)
            if n % 10 == 0:
                log.info("reviewed %d of %d", n, len(idx))
