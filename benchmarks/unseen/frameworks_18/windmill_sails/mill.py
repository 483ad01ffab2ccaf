"""Simulated logs of windmills, and the network that predicts their output."""

import torch
from torch import nn
from torch.utils.data import Dataset

CHANNELS = 12


class MillLog(Dataset):
    """One row per minute: wind, gusts, reef of the four sails, temperature of the brake; and the power at the shaft."""

    def __init__(self, minutes, mill):
        g = torch.Generator().manual_seed(100 + mill)
        self.rows = torch.randn(minutes, CHANNELS, generator=g)
        wind = self.rows[:, 0].abs() * 4 + 2
        reef = torch.sigmoid(self.rows[:, 2:6]).mean(1)
        noise = 0.1 * torch.randn(minutes, generator=g)
        self.power = (wind.pow(1.5) * (1 - 0.5 * reef)) / 10 + noise

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], self.power[i]


class PowerCurve(nn.Module):
    def __init__(self, width=64, depth=3):
        super().__init__()
        self.inlet = nn.Linear(CHANNELS, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.outlet = nn.Linear(width, 1)

    def forward(self, rows):
        hidden = torch.relu(self.inlet(rows))
        for block in self.blocks:
            hidden = hidden + torch.relu(block(hidden))
        return self.outlet(hidden).squeeze(-1)
