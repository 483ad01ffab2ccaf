import torch
import torch.nn as nn


class ConvBlock(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    def __init__(self, num_classes, width=32, depth=4):
        super().__init__()
        chans = [width * 2 ** i for i in range(depth + 1)]
        self.inc = ConvBlock(3, chans[0])
        self.down = nn.ModuleList(ConvBlock(a, b) for a, b in zip(chans[:-1], chans[1:]))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(chans[:-1], chans[1:])
        )
        self.fuse = nn.ModuleList(ConvBlock(2 * a, a) for a in chans[:-1])
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Conv2d(chans[0], num_classes, 1)

    def forward(self, x):
        skips = [self.inc(x)]
        for block in self.down:
            skips.append(block(self.pool(skips[-1])))
        y = skips.pop()
        for i in reversed(range(len(self.up))):
            y = self.up[i](y)
            y = self.fuse[i](torch.cat([y, skips[i]], dim=1))
        return self.head(y)
