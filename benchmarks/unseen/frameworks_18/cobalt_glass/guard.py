"""Keeps a single bad batch from spoiling the weights."""

import logging

from torch import nn

log = logging.getLogger("guard")


class SpikeGuard:
    """Clips the gradients of a step whose loss is far above the usual one.

    Clipping every step would cost a norm over all parameters each time, and nearly all steps are well-behaved.
    """

    def __init__(self, parameters, factor=6.0, max_norm=1.0, decay=0.97):
        self.parameters = list(parameters)
        self.factor = factor
        self.max_norm = max_norm
        self.decay = decay
        self.usual = None
        self.clipped = 0

    def update(self, loss):
        if self.usual is None:
            self.usual = loss
        else:
            self.usual = self.decay * self.usual + (1 - self.decay) * loss

    def spike(self, loss):
        usual = self.usual
        self.update(loss)
        return usual is not None and loss > self.factor * usual

    def apply(self, loss):
        if not self.spike(loss.item()):
            return
        norm = nn.utils.clip_grad_norm_(self.parameters, self.max_norm)
        self.clipped += 1
        log.info("loss %.3f: gradients clipped from %.3f", loss, norm.item())

    def report(self):
        return f"{self.clipped} steps clipped, usual loss {self.usual:.4f}"
