"""Water levels of three canals, made up but with tides.

All canals follow the same rule, so that one network can forecast them.
"""

import torch
from torch.utils.data import Dataset

GAUGES = 24


class LockLevels(Dataset):
    """Water levels around the locks of one canal, hour by hour, and the level at the weir six hours later."""

    def __init__(self, canal, hours):
        g = torch.Generator().manual_seed(100 + canal)
        rule = torch.randn(GAUGES, generator=torch.Generator().manual_seed(0)) / GAUGES**0.5
        tide = torch.sin(torch.arange(hours) / 12.4 * 6.283).unsqueeze(1)
        self.levels = tide * torch.rand(GAUGES, generator=g) + 0.4 * torch.randn(hours, GAUGES, generator=g)
        self.weir = (self.levels @ rule).tanh() + 0.05 * torch.randn(hours, generator=g)

    def __len__(self):
        return len(self.weir)

    def __getitem__(self, i):
        return self.levels[i], self.weir[i]


def flat_line(levels):
    """How well one does with the mean of all gauges instead of a network: the mean square error of that guess."""
    guess = levels.levels.mean(1)
    return (guess - levels.weir).square().mean().item()


def summary(canal, levels):
    """One line about a canal for the log."""
    low, high = levels.weir.min().item(), levels.weir.max().item()
    return (
        f"canal {canal}: {len(levels)} hours, {GAUGES} gauges, weir from {low:.2f} to {high:.2f}, "
        f"error of the mean of the gauges {flat_line(levels):.3f}"
    )
