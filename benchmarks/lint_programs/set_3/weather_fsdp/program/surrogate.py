import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset


def advance(x):
    """Diffusion plus a zonal wind on a periodic grid; x is (..., H, W)."""
    east = torch.roll(x, 1, -1)
    mean = (torch.roll(x, 1, -2) + torch.roll(x, -1, -2) + torch.roll(x, -1, -1) + east) / 4
    return 0.6 * east + 0.3 * mean + 0.1 * torch.sin(3 * x)


class Toy(Dataset):
    def __init__(self, n, grid, offset):
        self.n, self.grid, self.offset = n, grid, offset

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.offset + i)
        x = torch.randn(1, 4, 4, generator=g)[None]
        x = F.interpolate(x, (self.grid, self.grid), mode="bicubic", align_corners=False)[0]
        return x, advance(x)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv2d(c, 2 * c, 3, padding=1, padding_mode="circular")
        self.b = nn.Conv2d(2 * c, c, 1)

    def forward(self, x):
        return x + self.b(F.gelu(self.a(x)))


class Surrogate(nn.Module):
    def __init__(self, c=16, depth=3):
        super().__init__()
        self.inp, self.out = nn.Conv2d(1, c, 1), nn.Conv2d(c, 1, 1)
        self.blocks = nn.ModuleList(Block(c) for _ in range(depth))

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = b(h)
        return x + self.out(h)
