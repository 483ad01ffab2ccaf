import torch
from torch import nn


class Whitener(nn.Module):
    """Removes what the channels have in common, blast by blast."""

    def forward(self, readings):
        centred = readings - readings.mean(0)
        covariance = centred.T @ centred / len(readings)
        factor = torch.linalg.cholesky(covariance)
        return torch.linalg.solve_triangular(factor, centred.T, upper=False).T


class ShotLoss(nn.Module):
    """The squared error, and the correlation of the remaining errors with the whitened readings."""

    def __init__(self, weight=0.1):
        super().__init__()
        self.weight = weight
        self.whiten = Whitener()

    def forward(self, estimate, charge, readings):
        error = estimate - charge
        correlation = (error.T @ self.whiten(readings)) / len(error)
        return error.square().mean() + self.weight * correlation.square().sum()
