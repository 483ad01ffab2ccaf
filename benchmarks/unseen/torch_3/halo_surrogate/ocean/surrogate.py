import torch
from torch import nn


class ClosureNet(nn.Module):
    """Learns the sub-grid term that the coarse stencil cannot represent."""

    def __init__(self, width=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.GELU(), nn.Conv2d(width, 1, 3, padding=1)
        )

    def forward(self, field):
        return self.net(field[None, None])[0, 0]


def diffuse(field, nu=0.12):
    inner = field[1:-1]
    lap = field[2:] + field[:-2] - 2 * inner
    lap = lap + torch.roll(inner, 1, 1) + torch.roll(inner, -1, 1) - 2 * inner
    out = field.clone()
    out[1:-1] = inner + nu * lap
    return out
