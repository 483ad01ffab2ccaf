import torch
import torch.nn as nn


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())


class UNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, c), block(c, 2 * c), block(2 * c, 2 * c)
        self.u2, self.u1 = block(4 * c, c), block(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        m = self.up(self.mid(self.pool(b)))
        u = self.up(self.u2(torch.cat([m, b], 1)))
        return self.out(self.u1(torch.cat([u, a], 1)))
