import time

import torch
from torch import nn
from torch.utils.data import Dataset


class Claims(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(41)
        self.rows = torch.randn(count, 30, generator=generator)
        self.fraud = (self.rows[:, :2].sum(1) > 1).float()
        self.rows[::611, 7] = float("inf")

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        time.sleep(0.007)
        return self.rows[index], self.fraud[index]


class Review(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(30, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, rows):
        return self.layers(rows).squeeze(-1)
