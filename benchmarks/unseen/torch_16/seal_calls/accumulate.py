"""Gradient accumulation for semi-supervised batches."""
import contextlib

import torch
from torch import nn


def noisy(spectra, amount=0.2):
    return spectra + amount * torch.randn_like(spectra)


class Accumulator:
    """Adds up gradients of several batches before a step.

    The supervised term is what makes a step worth taking, so a step rests on `every` batches with labels; batches
    without contribute their consistency term to the step under way. Between two steps there is no communication.
    """

    def __init__(self, model, optimizer, every, weight=0.3):
        self.model = model
        self.optimizer = optimizer
        self.every = every
        self.weight = weight
        self.filled = 0
        self.steps = 0

    def loss(self, batch):
        size = len(batch.kinds)
        logits = self.model(torch.cat([batch.spectra, noisy(batch.spectra)]))
        clean, disturbed = logits[:size], logits[size:]
        consistency = nn.functional.mse_loss(disturbed.softmax(-1), clean.softmax(-1).detach())
        if not batch.labelled.any():
            return self.weight * consistency
        supervised = nn.functional.cross_entropy(clean[batch.labelled], batch.kinds[batch.labelled])
        return supervised + self.weight * consistency

    def add(self, batch):
        if batch.labelled.any():
            self.filled += 1
        due = self.filled == self.every
        with contextlib.nullcontext() if due else self.model.no_sync():
            loss = self.loss(batch) / self.every
            loss.backward()
        if due:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.filled = 0
            self.steps += 1
        return loss.item() * self.every
