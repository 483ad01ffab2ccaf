import time
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset


@dataclass(frozen=True)
class Region:
    name: str
    seconds_per_batch: float  # till data of some regions is read from a slow archive


REGIONS = (Region("east", 0.01), Region("west", 0.015), Region("south", 0.05), Region("isles", 0.005))


class Baskets(Dataset):
    """An item, six others, and which of these were bought together with it."""

    def __init__(self, region, items, count):
        g = torch.Generator().manual_seed(sum(region.name.encode()))
        self.item = torch.randint(0, items, (count,), generator=g)
        self.others = torch.randint(0, items, (count, 6), generator=g)
        same_shelf = self.others // 10 == (self.item // 10).unsqueeze(1)
        chance = torch.rand(count, 6, generator=g) < 0.1
        self.bought = (same_shelf | chance).float()

    def __len__(self):
        return len(self.item)

    def __getitem__(self, i):
        return self.item[i], self.others[i], self.bought[i]


class NeighbourIndex:
    def __init__(self):
        self.table = None

    def rebuild(self, weight, seconds):
        """Exact neighbours, refined for a fixed time (stands for a graph index over the full catalogue)."""
        w = torch.nn.functional.normalize(weight.detach(), dim=1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.table = (w @ w.T).fill_diagonal_(-1.0).topk(5, dim=1).indices
            time.sleep(0.05)

    def nearest(self, item):
        return self.table[item].tolist()
