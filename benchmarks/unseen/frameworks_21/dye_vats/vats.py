"""Recipes of dye vats (madder, weld, woad, mordants) and the shade that came out."""

import torch
from torch.utils.data import IterableDataset

INGREDIENTS = 18
SHADE = 3


class Vats(IterableDataset):
    """The vats of one rank, without end."""

    def __init__(self, rank, seed=1):
        self.rank, self.seed = rank, seed
        g = torch.Generator().manual_seed(0)
        self.mix = torch.randn(INGREDIENTS, SHADE, generator=g) / INGREDIENTS**0.5

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed * 100 + self.rank)
        while True:
            recipe = torch.rand(INGREDIENTS, generator=g)
            shade = (recipe @ self.mix).sigmoid() + 0.02 * torch.randn(SHADE, generator=g)
            yield recipe, shade
