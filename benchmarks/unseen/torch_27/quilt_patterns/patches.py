"""Synthetic patchwork: 16x16 quilts of a few traditional patterns, seen through noise."""
import time

import torch

PATTERNS = 5
SIDE = 16


def quilt(kind, random):
    y, x = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    base = {
        0: (x // 4 + y // 4) % 2,                  # nine patch
        1: (x + y) // 4 % 2,                       # flying geese
        2: (x // 2) % 2,                           # rails
        3: ((x - 8).abs() + (y - 8).abs()) // 3 % 2,   # diamonds
        4: torch.maximum((x - 8).abs(), (y - 8).abs()) // 2 % 2,   # log cabin
    }[kind].float()
    return base + 1.2 * torch.randn(SIDE, SIDE, generator=random)


class Quilts:
    def __init__(self, seed, rows=8):
        self.random = torch.Generator().manual_seed(seed)
        self.rows = rows

    def batch(self):
        time.sleep(0.045)
        kinds = torch.randint(PATTERNS, (self.rows,), generator=self.random)
        images = torch.stack([quilt(int(k), self.random) for k in kinds])
        return images.flatten(1), kinds
