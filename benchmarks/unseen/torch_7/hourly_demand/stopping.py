import math


class Plateau:
    """Tells when a score has not gone down for `patience` looks."""

    def __init__(self, patience=4, delta=0.0):
        self.patience, self.delta = patience, delta
        self.best = math.inf
        self.looks_since = 0

    def __call__(self, score: float) -> bool:
        if score < self.best - self.delta:
            self.best = score
            self.looks_since = 0
        else:
            self.looks_since += 1
        return self.looks_since >= self.patience
