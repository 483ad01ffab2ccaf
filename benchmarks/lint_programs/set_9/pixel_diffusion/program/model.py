import math

import torch
import torch.nn as nn


def timestep_embedding(t, dim):
    freqs = torch.exp(-math.log(10000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    args = t[:, None].float() * freqs[None]
    return torch.cat([args.cos(), args.sin()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, channels, emb_dim):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, channels), nn.GroupNorm(4, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.emb = nn.Linear(emb_dim, channels)
        self.act = nn.SiLU()

    def forward(self, x, emb):
        h = self.conv1(self.act(self.norm1(x))) + self.emb(emb)[:, :, None, None]
        return x + self.conv2(self.act(self.norm2(h)))


class TinyUNet(nn.Module):
    def __init__(self, in_channels=3, channels=16, emb_dim=32):
        super().__init__()
        self.emb_dim = emb_dim
        self.time = nn.Sequential(nn.Linear(emb_dim, emb_dim), nn.SiLU(), nn.Linear(emb_dim, emb_dim))
        self.conv_in = nn.Conv2d(in_channels, channels, 3, padding=1)
        self.down = ResBlock(channels, emb_dim)
        self.pool = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
        self.mid = ResBlock(channels, emb_dim)
        self.up = nn.ConvTranspose2d(channels, channels, 4, stride=2, padding=1)
        self.out = ResBlock(channels, emb_dim)
        self.conv_out = nn.Conv2d(channels, in_channels, 3, padding=1)

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, self.emb_dim))
        skip = self.down(self.conv_in(x), emb)
        h = self.up(self.mid(self.pool(skip), emb))
        return self.conv_out(self.out(h + skip, emb))
