import torch
import torch.nn as nn
import torch.nn.functional as F


class Double(nn.Sequential):
    def __init__(self, i, o):
        super().__init__(
            nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(8, o), nn.LeakyReLU(0.1, True),
            nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(8, o), nn.LeakyReLU(0.1, True),
        )


class UNet(nn.Module):
    def __init__(self, cin=6, cout=12, widths=(32, 64, 128, 256)):
        super().__init__()
        chans = (cin,) + tuple(widths)
        self.down = nn.ModuleList(Double(a, b) for a, b in zip(chans, chans[1:]))
        rev = widths[::-1]
        self.up = nn.ModuleList(Double(a + b, b) for a, b in zip(rev, rev[1:]))
        self.last = nn.Conv2d(widths[0], cout, 1)

    def forward(self, x):
        persistence = x[:, -1:]
        skips = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            skips.append(x)
        x = skips.pop()
        for block in self.up:
            skip = skips.pop()
            x = block(torch.cat([F.interpolate(x, size=skip.shape[-2:]), skip], 1))
        return persistence + self.last(x)


def weighted_l1(pred, target):
    weight = 1.0 + 4.0 * (target > 1.1).float() + 8.0 * (target > 2.4).float()
    return (weight * (pred - target).abs()).mean()
