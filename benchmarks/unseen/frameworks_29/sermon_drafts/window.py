"""Gradient accumulation by tokens instead of by batches: one optimizer step per `budget` tokens.

With documents of very different length, a fixed number of micro-batches gives steps of very different noise.
"""
from contextlib import nullcontext


class TokenWindow:
    def __init__(self, accelerator, model, budget):
        self.accelerator, self.model, self.budget = accelerator, model, budget
        self.tokens = 0
        self.closing = False

    def enter(self, batch):
        """Context for forward and backward of one micro-batch."""
        self.tokens += int(batch["mask"].sum())
        self.closing = self.tokens >= self.budget
        if self.closing:
            return nullcontext()
        return self.accelerator.no_sync(self.model)

    def step(self, optimizer):
        if not self.closing:
            return False
        optimizer.step()
        optimizer.zero_grad()
        self.tokens = 0
        return True
