"""Gradient accumulation over several batches."""
import contextlib

import torch


class Accumulator:
    """Steps the optimizer after every `every` batches, and after the last batch of an epoch.

    In between, the gradients stay on their process.
    """

    def __init__(self, model, optimizer, every):
        self.model = model
        self.optimizer = optimizer
        self.every = every
        self.total = None
        self.seen = 0

    def begin(self, loader):
        self.total = len(loader)
        self.seen = 0
        self.optimizer.zero_grad()

    @property
    def boundary(self):
        return self.seen % self.every == 0 or self.seen == self.total

    @contextlib.contextmanager
    def batch(self):
        self.seen += 1
        guard = contextlib.nullcontext() if self.boundary else self.model.no_sync()
        with guard:
            yield self
        if self.boundary:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()

    def backward(self, loss):
        (loss / self.every).backward()
