"""One optimizer step of a sharded model."""

import logging

import torch
from torch import nn

logger = logging.getLogger(__name__)


class Stepper:
    """Clips the gradient only where it is needed: after a loss far above the usual ones."""

    def __init__(self, model, lr, spike=8.0, max_norm=1.0, decay=0.95):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.spike = spike
        self.max_norm = max_norm
        self.decay = decay
        self.usual = None

    def is_spike(self, value):
        return self.usual is not None and value > self.spike * self.usual

    def __call__(self, loss):
        value = loss.item()
        loss.backward()
        if self.is_spike(value):
            nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
            logger.info("clipped after a loss of %.2f", value)
        else:
            self.usual = value if self.usual is None else self.decay * self.usual + (1 - self.decay) * value
        self.optimizer.step()
        self.optimizer.zero_grad()
        return value
