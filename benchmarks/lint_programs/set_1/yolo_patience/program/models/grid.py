import torch
import torch.nn as nn


def conv(c1, c2, s=1):
    return nn.Sequential(nn.Conv2d(c1, c2, 3, s, 1, bias=False), nn.BatchNorm2d(c2), nn.SiLU(inplace=True))


class GridDetector(nn.Module):
    """Stride-16 detector: each cell predicts objectness, an offset box and class scores."""

    stride = 16

    def __init__(self, nc, width=32):
        super().__init__()
        self.nc = nc
        w = width
        self.backbone = nn.Sequential(conv(3, w, 2), conv(w, 2 * w, 2), conv(2 * w, 2 * w),
                                      conv(2 * w, 4 * w, 2), conv(4 * w, 4 * w),
                                      conv(4 * w, 8 * w, 2), conv(8 * w, 8 * w))
        self.head = nn.Conv2d(8 * w, 5 + nc, 1)
        with torch.no_grad():
            self.head.bias[0] = -4.0

    def forward(self, x):
        return self.head(self.backbone(x)).permute(0, 2, 3, 1)
