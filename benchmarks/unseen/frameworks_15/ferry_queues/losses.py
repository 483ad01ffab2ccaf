"""Losses for counts that are not always known."""

import torch
from torch import nn


class MaskedPoisson(nn.Module):
    """Poisson loss over the sailings that were counted; None if a batch holds no count at all."""

    def __init__(self, unknown=-1):
        super().__init__()
        self.unknown = unknown

    def forward(self, log_rate, counts):
        counted = counts != self.unknown
        if not counted.any():
            return None
        return nn.functional.poisson_nll_loss(log_rate[counted], counts[counted].float())


class RelativeError(nn.Module):
    """Mean relative error over the counted sailings, with a floor of one car."""

    def __init__(self, unknown=-1):
        super().__init__()
        self.unknown = unknown

    def forward(self, log_rate, counts):
        counted = counts != self.unknown
        error = (log_rate.exp() - counts).abs() / counts.clamp(min=1)
        return (error * counted).sum() / counted.sum().clamp(min=1)


def describe(counts, unknown=-1):
    """One line about a tensor of counts."""
    counted = counts[counts != unknown].float()
    share = share_known(counts, unknown)
    mean = counted.mean() if len(counted) else torch.tensor(0.0)
    return f"{share:.1%} of {counts.numel()} sailings counted, {mean:.1f} cars on average"


def share_known(counts, unknown=-1):
    """Share of the counts that are known."""
    return (counts != unknown).float().mean().item()
