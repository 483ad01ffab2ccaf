"""When to end a stage of training."""

from collections import deque


class Settled:
    """A stage ends as soon as the loss of one process has settled: the others gain nothing from overfitting it."""

    def __init__(self, accelerator, level, window=200):
        self.accelerator = accelerator
        self.level = level
        self.recent = deque(maxlen=window)

    @property
    def mean(self):
        """Mean loss of this process over the window; infinite while there is none."""
        if not self.recent:
            return float("inf")
        return sum(self.recent) / len(self.recent)

    def add(self, loss):
        self.recent.append(loss.item())

    def here(self):
        full = len(self.recent) == self.recent.maxlen
        return full and self.mean < self.level

    def anywhere(self):
        """True on all processes once one of them has settled."""
        if self.here():
            self.accelerator.set_trigger()
        return self.here() or self.accelerator.check_trigger()

    def __repr__(self):
        return f"Settled(mean {self.mean:.3f}, level {self.level})"
