"""Gradient accumulation up to a number of stops."""
import contextlib


class Accumulator:
    def __init__(self, model, optimizer, target):
        self.model = model
        self.optimizer = optimizer
        self.target = target
        self.pending = 0
        self.updates = 0

    def backward(self, loss_fn, batch):
        self.pending += len(batch[0])
        full = self.pending >= self.target
        with contextlib.nullcontext() if full else self.model.no_sync():
            loss = loss_fn(self.model, batch)
            (loss * len(batch[0]) / self.target).backward()
        if full:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.pending = 0
            self.updates += 1
        return loss.item()
