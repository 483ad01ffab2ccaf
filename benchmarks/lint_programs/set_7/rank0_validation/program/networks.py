import torch.nn as nn


def norm(kind, channels):
    if kind == "batch":
        return nn.BatchNorm2d(channels)
    if kind == "group":
        return nn.GroupNorm(min(8, channels), channels)
    raise ValueError(kind)


class Residual(nn.Module):
    def __init__(self, cin, cout, stride, kind):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(cin, cout, 3, stride, 1, bias=False),
            norm(kind, cout),
            nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, 1, 1, bias=False),
            norm(kind, cout),
        )
        self.skip = nn.Identity()
        if stride != 1 or cin != cout:
            self.skip = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), norm(kind, cout))
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.body(x) + self.skip(x))


def resnet_small(width, num_classes, kind="batch"):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, 1, 1, bias=False),
        norm(kind, width),
        nn.ReLU(inplace=True),
        Residual(width, width, 1, kind),
        Residual(width, 2 * width, 2, kind),
        Residual(2 * width, 4 * width, 2, kind),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, num_classes),
    )
