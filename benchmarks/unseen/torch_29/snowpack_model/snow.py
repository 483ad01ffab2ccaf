"""A crude snow pack: heat moves between layers, the learned part is how fast."""
import torch
from torch import nn

CELLS, LAYERS = 160, 24


class Conductivity(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Softplus(), nn.Linear(24, 1), nn.Sigmoid())

    def forward(self, temperature, density):
        return 0.2 * self.net(torch.stack([temperature, density], -1)).squeeze(-1)


def melt(model, temperature, density, hours=4):
    for _ in range(hours):
        k = model(temperature, density)
        up = torch.cat([temperature[:, :1], temperature[:, :-1]], 1)
        down = torch.cat([temperature[:, 1:], temperature[:, -1:]], 1)
        temperature = temperature + k * (up + down - 2 * temperature)
    return temperature


def slope(seed):
    g = torch.Generator().manual_seed(seed)
    return -5 * torch.rand(CELLS, LAYERS, generator=g), 0.1 + 0.4 * torch.rand(CELLS, LAYERS, generator=g)
