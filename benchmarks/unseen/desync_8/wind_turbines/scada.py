"""Ten-minute records of the turbines of a farm, as the control system writes them."""

import math
import time
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, Dataset

COLUMNS = 6


@dataclass(frozen=True)
class Farm:
    name: str
    rated: float
    orders: tuple = ()  # (first record, number of records, share of turbines) that the grid switched off


FARMS = (
    Farm("north ridge", 2.3, ((400, 120, 0.3), (5100, 80, 0.4))),
    Farm("coast", 3.0, ((1400, 60, 0.5),)),
    Farm("high moor", 2.0, ((900, 40, 0.3), (2400, 16, 1.0), (6200, 90, 0.4))),
    Farm("old quarry", 1.8, ((3100, 200, 0.2),)),
)


class Records(Dataset):
    def __init__(self, farm, length, seed):
        self.farm, self.length, self.seed = farm, length, seed

    def __len__(self):
        return self.length

    def stopped(self, index, draw):
        return any(first <= index < first + count and draw < share for first, count, share in self.farm.orders)

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.seed * 100_003 + index)
        draw = torch.rand(1, generator=generator).item()
        speed = 3 + 11 * torch.rand(1, generator=generator).item()
        rest = torch.randn(COLUMNS - 2, generator=generator)
        season = math.sin(index / 300)
        stopped = self.stopped(index, draw)
        power = 0.0 if stopped else self.farm.rated * min(1.0, (speed / 12) ** 3) + 0.05 * rest[0].item()
        return {
            "inputs": torch.cat([torch.tensor([speed / 10, season]), rest]),
            "power": torch.tensor([power]),
            "stopped": stopped,
        }


def collate(rows):
    time.sleep(0.035 + 0.01 * (len(rows) % 3) / 3 + 0.015 * torch.rand(1).item())
    return {
        "inputs": torch.stack([row["inputs"] for row in rows]),
        "power": torch.stack([row["power"] for row in rows]),
        "stopped": torch.tensor([row["stopped"] for row in rows]),
    }


def records_of(rank, batches, batch_size):
    records = Records(FARMS[rank % len(FARMS)], batches * batch_size, seed=rank)
    return DataLoader(records, batch_size=batch_size, shuffle=False, collate_fn=collate)
