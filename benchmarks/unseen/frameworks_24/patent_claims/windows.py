"""Gradient accumulation by tokens: a step when enough of the text has been read."""

from dataclasses import dataclass

import torch


@dataclass
class Window:
    """Counts the tokens since the last step."""

    target: int
    tokens: int = 0
    batches: int = 0

    def add(self, mask):
        """Adds a batch; true if the window is full with it."""
        self.tokens += int(mask.sum())
        self.batches += 1
        return self.tokens >= self.target

    def reset(self):
        self.tokens = 0
        self.batches = 0


class WindowedSteps:
    """Runs batches of a sharded model and steps at the end of each window."""

    def __init__(self, model, optimizer, target, max_norm=1.0):
        self.model = model
        self.optimizer = optimizer
        self.window = Window(target)
        self.max_norm = max_norm
        self.steps = 0

    def run(self, loss_of, batch, mask):
        full = self.window.add(mask)
        # gradients are exchanged once per window
        self.model.set_requires_gradient_sync(full)
        loss = loss_of(self.model, batch, mask)
        loss.backward()
        if full:
            torch.nn.utils.clip_grad_value_(self.model.parameters(), self.max_norm)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.window.reset()
            self.steps += 1
        return loss.item()
