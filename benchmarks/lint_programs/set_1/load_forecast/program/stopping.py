import math


class Patience:
    """Counts epochs without improvement of a value that should go down."""

    def __init__(self, limit, min_delta=0.0):
        self.limit = limit
        self.min_delta = min_delta
        self.best = math.inf
        self.waited = 0

    def update(self, value):
        if value < self.best - self.min_delta:
            self.best = value
            self.waited = 0
        else:
            self.waited += 1
        return self.exhausted

    @property
    def exhausted(self):
        return self.waited >= self.limit

    @property
    def improved(self):
        return self.waited == 0
