import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from gauges import INPUTS


def regressor(width):
    return nn.Sequential(nn.Linear(INPUTS, width), nn.Tanh(), nn.Linear(width, 1))


class Forecast:
    """The level by the tide alone, and what a storm adds to it, as two networks with an optimizer each."""

    def __init__(self, width, lr):
        self.tide = DistributedDataParallel(regressor(width))
        self.surge = DistributedDataParallel(regressor(width))
        self.tide_optimizer = torch.optim.SGD(self.tide.parameters(), lr=lr)
        self.surge_optimizer = torch.optim.SGD(self.surge.parameters(), lr=lr)

    @torch.no_grad()
    def level(self, inputs):
        return self.tide.module(inputs) + self.surge.module(inputs).clamp(min=0)
