"""Photographs of carpets as they leave the loom, with the density of their knots."""
from dataclasses import dataclass

import torch

PIXELS = 48


@dataclass(frozen=True)
class Loom:
    name: str
    spread: float
    festive_from: int


LOOMS = (
    Loom("wool", 0.10, 10_000),
    Loom("silk", 0.12, 10_000),
    # carpets with figures are woven before the holidays, between plain ones
    Loom("court", 0.11, 96),
)


class Photographs:
    """An ordered stream of micro-batches of one loom."""

    def __init__(self, loom, count, size):
        self.loom = loom
        self.count = count
        self.size = size
        self.weights = torch.randn(PIXELS, generator=torch.Generator().manual_seed(2)) / PIXELS**0.5

    def micro_batch(self, number):
        g = torch.Generator().manual_seed(31 * number + len(self.loom.name))
        x = torch.randn(self.size, PIXELS, generator=g)
        y = torch.tanh(x @ self.weights) + self.loom.spread * torch.randn(self.size, generator=g)
        if number >= self.loom.festive_from and number % 3 == 0:
            y = y + 4.0 * torch.randn(self.size, generator=g)
        return x, y

    def __iter__(self):
        for number in range(self.count):
            yield self.micro_batch(number)

    def __len__(self):
        return self.count
