import math

import torch
import torch.nn.functional as F
from torch import nn


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000.0) * torch.arange(half, device=t.device) / half)
    args = t.float()[:, None] * freqs[None]
    return torch.cat([args.cos(), args.sin()], dim=-1)


class Res(nn.Module):
    def __init__(self, cin, cout, emb):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.n2, self.c2 = nn.GroupNorm(8, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.emb = nn.Linear(emb, 2 * cout)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, e):
        h = self.c1(F.silu(self.n1(x)))
        scale, shift = self.emb(F.silu(e))[:, :, None, None].chunk(2, dim=1)
        h = self.c2(F.silu(self.n2(h) * (1 + scale) + shift))
        return self.skip(x) + h


class UNet(nn.Module):
    def __init__(self, width=128, classes=10):
        super().__init__()
        emb = 4 * width
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.label = nn.Embedding(classes + 1, emb)
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.d1, self.d2 = Res(width, width, emb), Res(width, 2 * width, emb)
        self.mid = Res(2 * width, 2 * width, emb)
        self.u2, self.u1 = Res(4 * width, width, emb), Res(2 * width, width, emb)
        self.out = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x, t, y):
        e = self.time(timestep_embedding(t, self.width)) + self.label(y)
        a = self.d1(self.stem(x), e)
        b = self.d2(F.avg_pool2d(a, 2), e)
        m = self.mid(F.avg_pool2d(b, 2), e)
        h = self.u2(torch.cat([F.interpolate(m, scale_factor=2.0), b], dim=1), e)
        return self.out(self.u1(torch.cat([F.interpolate(h, scale_factor=2.0), a], dim=1), e))
