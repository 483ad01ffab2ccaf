import torch
import torch.nn as nn


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class MiniUNet(nn.Module):
    def __init__(self, w=8):
        super().__init__()
        self.enc1, self.enc2 = block(1, w), block(w, 2 * w)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(2 * w, w, 2, stride=2)
        self.dec = block(2 * w, w)
        self.head = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.up(self.enc2(self.pool(a)))
        return self.head(self.dec(torch.cat([a, b], 1)))
