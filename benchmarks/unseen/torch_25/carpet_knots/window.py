"""The number of micro-batches of a step grows with the noise of the losses.

Few micro-batches are enough as long as their losses agree; when they scatter, the gradient of a step is taken over
twice as many, up to a limit.
"""
import collections
import logging
import statistics

log = logging.getLogger("window")


class GrowingWindow:
    def __init__(self, start, limit, scatter, history=16):
        self.size = start
        self.limit = limit
        self.scatter = scatter
        self.losses = collections.deque(maxlen=history)
        self.filled = 0
        self.steps = 0

    @property
    def closing(self):
        """Whether the micro-batch that comes now is the last one of its step."""
        return self.filled + 1 >= self.size

    def note(self, loss):
        self.losses.append(loss)
        self.filled += 1

    def close(self):
        self.filled = 0
        self.steps += 1
        if self.noisy() and self.size < self.limit:
            self.size *= 2
            self.losses.clear()
            log.info("step %d: %d micro-batches from now on", self.steps, self.size)

    def noisy(self):
        if len(self.losses) < self.losses.maxlen:
            return False
        return statistics.pstdev(self.losses) > self.scatter * statistics.fmean(self.losses)
