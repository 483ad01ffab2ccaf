"""Steps that can be taken back."""

import logging

import torch
from torch import nn

log = logging.getLogger("engine")


class CarefulOptimizer:
    """Takes a step, looks at the predictions, and takes it back where they are out of range.

    A step that was taken back is repeated from the old weights with half the learning rate, a few times at most.
    """

    def __init__(self, model, lr, limit=25.0, attempts=3):
        self.model, self.lr, self.limit, self.attempts = model, lr, limit, attempts
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.taken_back = 0

    def snapshot(self):
        return [p.detach().clone() for p in self.model.parameters()]

    def restore(self, weights):
        with torch.no_grad():
            for p, old in zip(self.model.parameters(), weights):
                p.copy_(old)

    def in_range(self, sensors):
        with torch.no_grad():
            return bool(self.model.module(sensors).abs().max() < self.limit)

    def set_rate(self, lr):
        for group in self.optimizer.param_groups:
            group["lr"] = lr

    def descend(self, sensors, alcohol):
        self.optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(self.model(sensors).squeeze(1), alcohol)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def step(self, sensors, alcohol):
        weights = self.snapshot()
        for attempt in range(self.attempts):
            self.set_rate(self.lr / 2**attempt)
            loss = self.descend(sensors, alcohol)
            if self.in_range(sensors):
                break
            self.taken_back += 1
            log.debug("attempt %d out of range, loss %.3f", attempt, loss)
            if attempt + 1 < self.attempts:
                self.restore(weights)
        return loss
