"""Readings (inputs) and levels (targets) are kept in two tables by two agencies."""
import torch

GAP = 37


def readings(days=60, batch=8):
    g = torch.Generator().manual_seed(1)
    for d in range(days):
        x = torch.randn(batch, 12, generator=g)
        if d == GAP or d == GAP + 5:
            continue            # the sensor was being cleaned
        yield x


def levels(days=60, batch=8):
    g = torch.Generator().manual_seed(2)
    for _ in range(days):
        yield torch.randn(batch, 1, generator=g)
