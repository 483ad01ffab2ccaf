import copy
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset


class Tiles(Dataset):
    """Procedural texture tiles."""

    def __init__(self, n, size=8, seed=4):
        gen = torch.Generator().manual_seed(seed)
        phase = torch.rand(n, 2, generator=gen) * 2 * math.pi
        grid = torch.linspace(0, 2 * math.pi, size)
        rows = torch.sin(grid[None, :, None] + phase[:, 0, None, None])
        cols = torch.cos(grid[None, None, :] + phase[:, 1, None, None])
        self.tiles = (rows * cols).unsqueeze(1)

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, i):
        return self.tiles[i]


class Denoiser(nn.Module):
    def __init__(self, size=8, width=128):
        super().__init__()
        self.size = size
        self.net = nn.Sequential(
            nn.Linear(size * size + 1, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, size * size),
        )

    def forward(self, x, t):
        out = self.net(torch.cat([x.flatten(1), t[:, None]], dim=1))
        return out.view_as(x)


class EMA(nn.Module):
    def __init__(self, model, decay):
        super().__init__()
        self.shadow = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)


def diffusion_loss(model, x):
    t = torch.rand(x.size(0)).to(x.device)
    noise = torch.randn(x.shape).to(x.device)
    alpha = torch.cos(t * math.pi / 2).view(-1, 1, 1, 1)
    sigma = torch.sin(t * math.pi / 2).view(-1, 1, 1, 1)
    return F.mse_loss(model(alpha * x + sigma * noise, t), noise)
