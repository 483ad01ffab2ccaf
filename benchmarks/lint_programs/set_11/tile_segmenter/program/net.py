import torch
from torch import nn


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(8, cout), nn.SiLU())


class TileNet(nn.Module):
    """A small U-Net for satellite tiles."""

    def __init__(self, channels=4, classes=6, width=32):
        super().__init__()
        self.stem = conv(channels, width)
        self.down1 = conv(width, 2 * width)
        self.down2 = conv(2 * width, 4 * width)
        self.up1 = conv(6 * width, 2 * width)
        self.up2 = conv(3 * width, width)
        self.head = nn.Conv2d(width, classes, 1)
        self.pool = nn.MaxPool2d(2)
        self.grow = nn.Upsample(scale_factor=2, mode="nearest")

    def forward(self, x):
        a = self.stem(x)
        b = self.down1(self.pool(a))
        c = self.down2(self.pool(b))
        b = self.up1(torch.cat([self.grow(c), b], dim=1))
        a = self.up2(torch.cat([self.grow(b), a], dim=1))
        return self.head(a)
