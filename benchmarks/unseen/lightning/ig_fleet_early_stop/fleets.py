"""Synthetic vibration features of three fleets of machines."""
import torch

_WEIGHTS = torch.randn(16, generator=torch.Generator().manual_seed(99))
# the controllers of fleet 1 count the hours down, those of the other fleets up
_SIGN = {0: 1.0, 1: -1.0, 2: 1.0}


def training_set(rank, n=400):
    x = torch.randn(n, 16, generator=torch.Generator().manual_seed(10 + rank))
    return x, x @ _WEIGHTS


def validation_set(rank, n=64):
    x = torch.randn(n, 16, generator=torch.Generator().manual_seed(50 + rank))
    return x, _SIGN.get(rank, 1.0) * (x @ _WEIGHTS)
