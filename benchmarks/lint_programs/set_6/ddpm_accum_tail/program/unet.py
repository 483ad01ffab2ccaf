import math

import torch
import torch.nn.functional as F
from torch import nn


def timestep_embedding(t, dim):
    freq = torch.exp(-math.log(10000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    angle = t[:, None].float() * freq
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, emb):
        super().__init__()
        self.norm1 = nn.GroupNorm(4, cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.emb = nn.Linear(emb, cout)
        self.norm2 = nn.GroupNorm(4, cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, e):
        h = self.conv1(F.silu(self.norm1(x))) + self.emb(e)[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class SmallUNet(nn.Module):
    def __init__(self, channels=1, width=16, emb=64):
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.down = ResBlock(width, 2 * width, emb)
        self.middle = ResBlock(2 * width, 2 * width, emb)
        self.up = ResBlock(3 * width, width, emb)
        self.out = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, x, t):
        e = self.time(timestep_embedding(t, self.width))
        h0 = self.stem(x)
        h1 = self.middle(self.down(F.avg_pool2d(h0, 2), e), e)
        h = self.up(torch.cat([F.interpolate(h1, scale_factor=2.0), h0], dim=1), e)
        return self.out(F.silu(h))
