import math

import torch
from torch import nn


def timestep_embedding(t, dim):
    freqs = torch.exp(-math.log(10000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    args = t[:, None].float() * freqs
    return torch.cat([args.cos(), args.sin()], -1)


class ResBlock(nn.Module):
    def __init__(self, ch, emb):
        super().__init__()
        self.a = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1))
        self.b = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1))
        self.emb = nn.Linear(emb, ch)

    def forward(self, x, emb):
        return x + self.b(self.a(x) + self.emb(emb)[..., None, None])


class SpriteUNet(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.ch = ch
        self.time = nn.Sequential(nn.Linear(ch, 4 * ch), nn.SiLU(), nn.Linear(4 * ch, 4 * ch))
        self.stem = nn.Conv2d(3, ch, 3, padding=1)
        self.down = nn.ModuleList([ResBlock(ch, 4 * ch) for _ in range(2)])
        self.pool = nn.Conv2d(ch, ch, 3, stride=2, padding=1)
        self.mid = nn.ModuleList([ResBlock(ch, 4 * ch) for _ in range(2)])
        self.up = nn.ConvTranspose2d(ch, ch, 2, stride=2)
        self.tail = ResBlock(ch, 4 * ch)
        self.out = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, 3, 3, padding=1))

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, self.ch))
        h = self.stem(x)
        for block in self.down:
            h = block(h, emb)
        low = self.pool(h)
        for block in self.mid:
            low = block(low, emb)
        return self.out(self.tail(h + self.up(low), emb))
