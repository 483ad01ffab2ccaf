"""Chooses how many micro-batches make a step, after the noise of the loss."""
import statistics
from collections import deque


class NoiseAccumulator:
    """Starts with few micro-batches and takes more when the loss becomes noisy.

    ``window`` micro-batches are looked at; ``tolerance`` is the standard deviation
    relative to the mean above which the number of micro-batches is doubled.
    """

    def __init__(self, start=2, limit=16, window=8, tolerance=1.0):
        self.length = start
        self.limit = limit
        self.tolerance = tolerance
        self.losses = deque(maxlen=window)
        self.pending = 0

    def boundary(self):
        self.pending += 1
        return self.pending >= self.length

    def record(self, loss, stepped):
        self.losses.append(loss)
        if not stepped:
            return
        self.pending = 0
        if len(self.losses) == self.losses.maxlen and self._noisy() and self.length < self.limit:
            self.length *= 2
            self.losses.clear()

    def _noisy(self):
        mean = statistics.fmean(self.losses)
        return statistics.pstdev(self.losses) > self.tolerance * mean
