"""How much of an epoch is worth its time."""


class HintBudget:
    """Games with many hints teach little about levels; an epoch may contain so many hints."""

    def __init__(self, most):
        self.most = most
        self.used = 0

    def start(self):
        self.used = 0

    def spend(self, hints):
        self.used += int(hints.sum())

    @property
    def spent(self):
        return self.used >= self.most
