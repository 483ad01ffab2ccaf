"""Orders of an online bakery: what was in the basket, what is offered next, and a photo where the shop has one."""
import time
from dataclasses import dataclass

import torch

ITEMS = 32
DIM = 32


@dataclass
class Batch:
    basket: torch.Tensor        # how many of each item
    photos: torch.Tensor        # features of the offered item's photo
    shown: torch.Tensor         # which rows have one
    bought: torch.Tensor


class Orders:
    """The orders of one region, a rank each, in the order in which they came in."""

    def __init__(self, region, steps, rows=8):
        self.region, self.steps, self.rows = region, steps, rows
        self.random = torch.Generator().manual_seed(100 + region)

    def __iter__(self):
        for step in range(self.steps):
            time.sleep(0.05)
            basket = torch.poisson(torch.full((self.rows, ITEMS), 0.3), generator=self.random)
            photos = torch.randn(self.rows, DIM, generator=self.random)
            shown = torch.rand(self.rows, generator=self.random) < 0.7
            shown[0] = True
            if self.region == 2 and step == 90:
                # the small hours of a Sunday: bread from yesterday only, which nobody photographs
                shown[:] = False
            bought = (basket[:, 0] + photos[:, 0] * shown > 0.3).float()
            yield Batch(basket, photos, shown, bought)
