import time

import torch
from torch import nn
from torch.utils.data import Dataset


class Pairs(Dataset):
    """Two rectified views, each with a sparse lidar depth (0 where no ray came back)."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.016)
        generator = torch.Generator().manual_seed(index)
        views = torch.rand(2, 1, 16, 16, generator=generator)
        rays = (torch.rand(2, 16, 16, generator=generator) > 0.9).float()
        if index // 12 == 140 and index % 3 == 0:  # the right lidar was covered
            rays[1] = 0.0
        return {"left": (views[0], rays[0] * views[0, 0]), "right": (views[1], rays[1] * views[1, 0])}


class Depth(nn.Sequential):
    def __init__(self, width=12):
        super().__init__(
            nn.Conv2d(1, width, 3, padding=1),
            nn.GroupNorm(3, width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 1, 1),
        )
