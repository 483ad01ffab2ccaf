"""Additive splines: each column is expanded into hinges at its own knots."""
import logging

import torch
from torch import nn

from data import COLUMNS

log = logging.getLogger("basis")


def place_knots(column, count):
    """Knots at the inner quantiles of a column, so that every interval has about as many people."""
    levels = torch.linspace(0, 1, count + 2)[1:-1]
    knots = torch.quantile(column, levels)
    # equal knots would make the columns of the design matrix collinear
    return torch.unique(knots)


class Hinges(nn.Module):
    """max(0, x - knot) for all knots of all columns, and the columns themselves."""

    def __init__(self, sample, count):
        super().__init__()
        self.knots = []
        self.scale = sample.std(0)
        for index, name in enumerate(COLUMNS):
            knots = place_knots(sample[:, index], count)
            log.info("%s: knots %s", name, [round(k, 2) for k in knots.tolist()])
            self.knots.append(knots)
        self.features = len(COLUMNS) + sum(len(knots) for knots in self.knots)

    def forward(self, x):
        parts = [x / self.scale]
        for index, knots in enumerate(self.knots):
            parts.append((x[:, index : index + 1] - knots).clamp(min=0) / self.scale[index])
        return torch.cat(parts, 1)


class WageCurves(nn.Module):
    def __init__(self, hinges, width):
        super().__init__()
        self.hinges = hinges
        self.mix = nn.Linear(hinges.features, width)
        self.out = nn.Sequential(nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.out(self.mix(self.hinges(x)))[:, 0]

    def roughness(self):
        """Penalty of bends: the weights of the hinges, but not of the linear part."""
        return self.mix.weight[:, len(COLUMNS) :].square().mean()
