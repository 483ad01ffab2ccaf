import torch
from torch import nn
from torch.utils.data import Dataset


class Sprites(Dataset):
    """Mirror-symmetric 16x16 random sprites in [-1, 1]."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        half = (torch.rand(1, 4, 2, generator=g) > 0.5).float()
        full = torch.cat([half, half.flip(-1)], -1)
        return 2 * full.repeat_interleave(4, 1).repeat_interleave(4, 2) - 1


class UNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, 2 * width))
        self.inp = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.mid = nn.Sequential(nn.GroupNorm(4, 2 * width), nn.SiLU(), nn.Conv2d(2 * width, 2 * width, 3, padding=1))
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.out = nn.Sequential(nn.SiLU(), nn.Conv2d(2 * width, 1, 3, padding=1))

    def forward(self, x, t):
        a = self.inp(x)
        h = self.down(a) + self.time(t[:, None])[:, :, None, None]
        return self.out(torch.cat([a, self.up(h + self.mid(h))], 1))
