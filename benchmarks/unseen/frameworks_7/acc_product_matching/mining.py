"""Bank of hard negatives that all workers share."""
from collections import deque

import torch


class NegativeBank:
    """Products that were shown, clicked and left again within a second."""

    def __init__(self, accelerator, capacity=64, bounce_seconds=1.0):
        self.accelerator = accelerator
        self.bounce_seconds = bounce_seconds
        self.items = deque(maxlen=capacity)

    def __len__(self):
        return len(self.items)

    def update(self, product, dwell):
        bounced = product[dwell < self.bounce_seconds]
        if bounced.numel():
            padded = torch.full_like(product, -1)
            padded[: bounced.numel()] = bounced
            self._share(padded)

    def _share(self, padded):
        everywhere = self.accelerator.gather(padded)
        self.items.extend(int(p) for p in everywhere if p >= 0)
