"""What is told about a training: a running loss, sizes of weights, the speed."""
import logging
import time

from torch.distributed.tensor import DTensor

log = logging.getLogger("blend")


class Progress:
    """Every process calls `step`; a line is written by the main one, every `every` steps."""

    def __init__(self, main, every, smoothing=0.95):
        self.main = main
        self.every = every
        self.smoothing = smoothing
        self.loss = None
        self.steps = 0
        self.since = time.monotonic()

    def _smooth(self, loss):
        value = float(loss)
        self.loss = value if self.loss is None else self.smoothing * self.loss + (1 - self.smoothing) * value

    def _speed(self):
        now = time.monotonic()
        speed = self.every / (now - self.since)
        self.since = now
        return speed

    @staticmethod
    def number(value):
        """A float, from whatever kind of tensor a quantity comes as."""
        if isinstance(value, DTensor):
            value = value.full_tensor()
        return float(value)

    def describe(self, **quantities):
        return "  ".join(f"{name} {self.number(value):.4g}" for name, value in quantities.items())

    def step(self, loss, **quantities):
        self.steps += 1
        self._smooth(loss)
        if self.main and self.steps % self.every == 0:
            log.info("step %d  loss %.4f  %s  %.0f steps/s",
                     self.steps, self.loss, self.describe(**quantities), self._speed())
