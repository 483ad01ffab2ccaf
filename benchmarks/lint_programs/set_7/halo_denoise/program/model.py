import torch.nn as nn


class Denoiser(nn.Module):
    """Stack of unpadded convolutions; eats `context` samples on each side."""

    def __init__(self, channels=1, hidden=32, depth=4, kernel=9):
        super().__init__()
        layers, last = [], channels
        for _ in range(depth - 1):
            layers += [nn.Conv1d(last, hidden, kernel), nn.GELU()]
            last = hidden
        layers.append(nn.Conv1d(last, channels, kernel))
        self.net = nn.Sequential(*layers)
        self.context = depth * (kernel // 2)

    def forward(self, x):
        return self.net(x)
