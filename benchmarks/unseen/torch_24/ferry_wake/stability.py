"""Keeps single bad batches from spoiling the weights."""
import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class ClipConfig:
    max_norm: float = 1.0
    factor: float = 8.0
    warmup: int = 20
    decay: float = 0.95


class SpikeClipper:
    """Clips the gradient in the steps that need it.

    The norm over all parameters is not for free, so it is computed only after a loss that stands out
    against the running mean; ordinary steps keep their gradient as it is.
    """

    def __init__(self, model: nn.Module, config: ClipConfig):
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.config = config
        self.mean = None
        self.seen = 0
        self.clipped = 0

    def is_spike(self, loss: float) -> bool:
        return self.seen >= self.config.warmup and loss > self.config.factor * self.mean

    def _remember(self, loss: float) -> None:
        d = self.config.decay
        self.mean = loss if self.mean is None else d * self.mean + (1 - d) * loss
        self.seen += 1

    def after_backward(self, loss: torch.Tensor) -> None:
        value = loss.item()
        if self.is_spike(value):
            nn.utils.clip_grad_norm_(self.parameters, self.config.max_norm)
            self.clipped += 1
        else:
            self._remember(value)
