import contextlib


class TokenWindow:
    """Collects micro-batches until `budget` real tokens have been seen.

    Counting tokens instead of micro-batches keeps the effective batch size constant
    when documents have very different lengths.
    """

    def __init__(self, accelerator, budget):
        self.accelerator = accelerator
        self.budget = budget
        self.tokens = 0
        self.steps = 0

    @property
    def full(self):
        return self.tokens >= self.budget

    def add(self, lengths):
        self.tokens += int(lengths.sum())

    def gradients(self, model):
        """Context for one forward and backward pass."""
        if self.full:
            return contextlib.nullcontext()
        return self.accelerator.no_sync(model)

    def close(self):
        self.tokens = 0
        self.steps += 1
