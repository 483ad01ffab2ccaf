import torch
from torch import nn


class MixerBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.spatial = nn.Sequential(
            nn.Conv2d(dim, dim, 3, padding=1, groups=dim), nn.GELU(), nn.GroupNorm(8, dim)
        )
        self.channel = nn.Sequential(nn.Conv2d(dim, dim, 1), nn.GELU(), nn.GroupNorm(8, dim))

    def forward(self, x):
        return self.channel(x + self.spatial(x))


class ConvMixer(nn.Module):
    def __init__(self, classes=4, dim=32, depth=2):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, dim, 4, stride=4), nn.GELU(), nn.GroupNorm(8, dim))
        self.blocks = nn.Sequential(*[MixerBlock(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean(dim=(2, 3)))


def synthetic_patches(n, seed, classes=4):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    x = torch.randn(n, 3, 16, 16, generator=g)
    x[:, 0] += (y.float() - 1.5)[:, None, None] * 0.3
    return x, y
