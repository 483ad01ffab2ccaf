"""Recipes (hyperparameters) for the regression of a varnish's gloss on its ingredients."""
import dataclasses

import torch
from torch import nn

INGREDIENTS = 7


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What may differ between the contestants; the data are the same for all of them."""

    name: str
    lr: float
    growth: float  # of the step size, from rung to rung
    width: int


RECIPES = (
    Recipe("linseed", lr=0.02, growth=1.0, width=24),
    Recipe("copal", lr=0.01, growth=40.0, width=32),
    Recipe("sandarac", lr=0.001, growth=1.2, width=8),
    Recipe("mastic", lr=0.005, growth=0.9, width=16),
)


def samples(count, seed):
    """Plates with a varnish of known ingredients and the gloss that was measured after a month."""
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(count, INGREDIENTS, generator=g)
    gloss = 2 * x[:, 0] * x[:, 1] - x[:, 2].square() + torch.sin(4 * x[:, 3]) + 3
    return x, gloss + 0.05 * torch.randn(count, generator=g)


def build(recipe):
    torch.manual_seed(len(recipe.name))
    net = nn.Sequential(
        nn.Linear(INGREDIENTS, recipe.width), nn.Tanh(), nn.Linear(recipe.width, 1)
    )
    return net, torch.optim.SGD(net.parameters(), lr=recipe.lr)
