class Plateau:
    """Watches a score; ``reached`` once it has not risen by ``delta`` for ``patience`` calls."""

    def __init__(self, patience, delta):
        self.patience, self.delta = patience, delta
        self.best, self.since = float("-inf"), 0

    def reached(self, score):
        if score > self.best + self.delta:
            self.best, self.since = score, 0
        else:
            self.since += 1
        return self.since >= self.patience
