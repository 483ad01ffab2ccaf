import torch.nn as nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.GroupNorm(8, width), nn.Conv2d(width, width, 5, padding=2, groups=width),
            nn.Conv2d(width, 2 * width, 1), nn.GELU(), nn.Conv2d(2 * width, width, 1))

    def forward(self, x):
        return x + self.net(x)


class Nowcaster(nn.Module):
    def __init__(self, channels, width, depth):
        super().__init__()
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, x):
        return x + self.head(self.blocks(self.stem(x)))
