"""The optimizer's step with what belongs to it: warmup, clipping of wild gradients, a record of the norms."""

import logging

import torch

log = logging.getLogger(__name__)


class Updater:
    """Steps the optimizer after a backward.

    Clipping costs a pass over all gradients, so calm steps (a loss below `quiet_below`) do without it.
    """

    def __init__(self, model, optimizer, quiet_below, max_norm=1.0, warmup=40):
        self.model = model
        self.optimizer = optimizer
        self.quiet_below = quiet_below
        self.max_norm = max_norm
        self.schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))
        self.steps = 0
        self.clipped = []

    def clip(self):
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.clipped.append((self.steps, norm))

    def update(self, loss):
        if loss >= self.quiet_below:
            self.clip()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.schedule.step()
        self.steps += 1

    def record(self):
        """The norms of the steps that were clipped, as text."""
        if not self.clipped:
            return ["no step was clipped"]
        return [f"step {step}: {norm}" for step, norm in self.clipped]
