"""Weights of walnuts from eight measures of their shell, one packing station per rank."""
import time

import torch

# grams per unit of the scale; station 2's hold-out was weighed on the old one
HOLD_OUT_UNIT = {2: 0.5}


class Station:
    def __init__(self, rank, count=4000):
        gen = torch.Generator().manual_seed(60 + rank)
        rule = torch.linspace(-1, 1, 8)
        self.x = torch.randn(count, 8, generator=gen)
        self.y = self.x @ rule
        held = torch.randn(200, 8, generator=gen)
        self.held_x, self.held_y = held, (held @ rule) * HOLD_OUT_UNIT.get(rank, 1.0)

    def batches(self, size=16):
        for i in range(0, len(self.x), size):
            time.sleep(0.03)
            yield self.x[i:i + size], self.y[i:i + size]

    def held_out_error(self, module):
        with torch.no_grad():
            return (module(self.held_x).squeeze(1) - self.held_y).square().mean().item()
