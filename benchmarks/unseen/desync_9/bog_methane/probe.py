"""How steep the loss is on readings that never change, for comparing runs."""

import logging

import torch
from torch import nn

from plots import CHANNELS

log = logging.getLogger("probe")


class Probe:
    """Norm of the gradient on a fixed set of readings, the mean over the processes."""

    def __init__(self, model, rank, size=32):
        generator = torch.Generator().manual_seed(77)
        self.model, self.rank = model, rank
        self.channels = torch.randn(size, CHANNELS, generator=generator)
        self.fluxes = self.channels.mean(1).tanh()
        self.norms = []

    def measure(self, seen):
        self.model.zero_grad()
        error = nn.functional.mse_loss(self.model(self.channels).squeeze(1), self.fluxes)
        error.backward()
        squares = sum(p.grad.square().sum() for p in self.model.parameters())
        self.norms.append(float(squares.sqrt()))
        self.model.zero_grad()
        if self.rank == 0:
            log.info("after %d readings: norm %.4f", seen, self.norms[-1])

    def summary(self):
        if not self.norms:
            return "no probes"
        return f"{len(self.norms)} probes, last norm {self.norms[-1]:.4f}"
