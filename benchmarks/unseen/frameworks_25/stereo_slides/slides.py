"""Stereo slides: a strip of the left and right picture, and the depth that an operator has set."""

import torch

STRIP = 32


class Cabinet:
    """Drawers of slides in batches, the same on every process: the first stage takes the pictures, the last the depths.

    Some slides in a drawer are fogged; the scanner writes NaN where it finds no density at all.
    """

    def __init__(self, drawers, batches, batch, fogged=()):
        self.drawers = drawers
        self.batches = batches
        self.batch = batch
        self.fogged = frozenset(fogged)

    def generator(self, drawer, number):
        return torch.Generator().manual_seed(drawer * 3001 + number)

    def pictures(self, drawer):
        for number in range(self.batches):
            strips = torch.randn(self.batch, STRIP, generator=self.generator(drawer, number))
            if (drawer, number) in self.fogged:
                strips[3] = float("nan")
            yield strips

    def depths(self, drawer):
        rule = torch.randn(STRIP, 1, generator=torch.Generator().manual_seed(0)) / STRIP**0.5
        for number in range(self.batches):
            strips = torch.randn(self.batch, STRIP, generator=self.generator(drawer, number))
            yield torch.tanh(strips @ rule)
