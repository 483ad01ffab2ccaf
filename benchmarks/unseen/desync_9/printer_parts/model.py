"""The network for warping and an average of its weights."""

import copy

import torch
from torch import nn

from parts import LAYERS


class Warping(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(LAYERS, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.output = nn.Linear(width, 1)

    def forward(self, layers):
        return self.output(self.layers(layers)).squeeze(-1)


class Average:
    """Exponential average of the weights, the same on all processes as the weights are."""

    def __init__(self, module, decay=0.99):
        self.module, self.decay = copy.deepcopy(module), decay

    @torch.no_grad()
    def update(self, module):
        for mean, parameter in zip(self.module.parameters(), module.parameters()):
            mean.lerp_(parameter, 1 - self.decay)

    @torch.no_grad()
    def error(self, layers, warping):
        return float(nn.functional.l1_loss(self.module(layers), warping))
