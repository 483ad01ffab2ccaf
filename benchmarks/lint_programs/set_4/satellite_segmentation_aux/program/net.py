import torch.nn as nn
import torch.nn.functional as F


def conv(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.GroupNorm(4, o), nn.ReLU(inplace=True))


class SegNet(nn.Module):
    """Encoder with a main head and a deep-supervision head on the middle features."""

    def __init__(self, bands=4, classes=5, width=16):
        super().__init__()
        self.stem = conv(bands, width)
        self.down1 = conv(width, 2 * width, 2)
        self.down2 = conv(2 * width, 4 * width, 2)
        self.head = nn.Conv2d(4 * width, classes, 1)
        self.aux_head = nn.Sequential(conv(2 * width, width), nn.Conv2d(width, classes, 1))

    def forward(self, x, with_aux=False):
        size = x.shape[-2:]
        mid = self.down1(self.stem(x))
        out = F.interpolate(self.head(self.down2(mid)), size, mode="bilinear", align_corners=False)
        if not with_aux:
            return out, None
        aux = F.interpolate(self.aux_head(mid), size, mode="bilinear", align_corners=False)
        return out, aux
