"""Aerial pictures of walrus on a beach, and how many there are."""
import time

import torch
from torch.utils.data import Dataset

PICTURES = [260, 236, 252]         # per beach; the storm cost beach 1 a roll of film


class Beach(Dataset):
    def __init__(self, number):
        self.number = number

    def __len__(self):
        return PICTURES[self.number]

    def __getitem__(self, index):
        time.sleep(0.002)
        g = torch.Generator().manual_seed(1000 * self.number + index)
        walrus = int(torch.randint(0, 12, (1,), generator=g))
        picture = torch.rand(1, 16, 16, generator=g) * 0.3
        for _ in range(walrus):
            y, x = torch.randint(0, 16, (2,), generator=g).tolist()
            picture[0, y, x] = 1.0
        return picture, torch.tensor(float(walrus))
