"""Numbers that describe the run, for the log."""

import logging
from collections import deque

log = logging.getLogger("gauge")


class Gauge:
    """Mean of a value over all processes, and its recent course."""

    def __init__(self, accelerator, name, window=20, every=10):
        self.accelerator = accelerator
        self.name = name
        self.recent = deque(maxlen=window)
        self.every = every
        self.count = 0

    def push(self, value):
        everywhere = self.accelerator.gather(value.detach().reshape(1))
        self.recent.append(everywhere.mean().item())
        self.count += 1
        if self.count % self.every == 0 and self.accelerator.is_main_process:
            log.info("%s after %d: %.4f (%+.4f)", self.name, self.count, self.mean, self.slope)

    @property
    def mean(self):
        return sum(self.recent) / max(len(self.recent), 1)

    @property
    def slope(self):
        """Change over the window."""
        return self.recent[-1] - self.recent[0] if self.recent else 0.0

    def settled(self, tolerance=1e-4):
        return len(self.recent) == self.recent.maxlen and abs(self.slope) < tolerance
