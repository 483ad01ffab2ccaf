class Plateau:
    """Patience-based stop on a smoothed loss.

    >>> p = Plateau(patience=2, tolerance=0.0)
    >>> [p.step(v) for v in (3.0, 2.0, 2.5, 2.5)]
    [False, False, False, True]
    """

    def __init__(self, patience, tolerance, smoothing=0.0, warmup=0):
        self.patience, self.tolerance = patience, tolerance
        self.smoothing, self.warmup = smoothing, warmup
        self.best = float("inf")
        self.average = None
        self.waited = self.seen = 0

    def step(self, value):
        self.seen += 1
        self.average = value if self.average is None else (
            self.smoothing * self.average + (1 - self.smoothing) * value)
        if self.seen <= self.warmup:
            return False
        if self.average < self.best - self.tolerance:
            self.best, self.waited = self.average, 0
        else:
            self.waited += 1
        return self.waited >= self.patience
