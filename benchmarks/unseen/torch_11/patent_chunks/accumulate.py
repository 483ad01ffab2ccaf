import contextlib


class TokenAccumulator:
    """Decides after how many chunks the optimizer steps: when they have `budget` tokens together."""

    def __init__(self, model, budget):
        self.model = model
        self.budget = budget
        self.tokens = 0

    @property
    def complete(self):
        return self.tokens >= self.budget

    def chunk(self, size):
        if self.complete:
            self.tokens = 0
        self.tokens += size
        return contextlib.nullcontext() if self.complete else self.model.no_sync()
