from contextlib import nullcontext


class TokenBudget:
    """Collects micro-batches until they hold `target` tokens."""

    def __init__(self, ddp, target):
        self.ddp = ddp
        self.target = target
        self.tokens = 0

    def take(self, n):
        self.tokens += n
        self.full = self.tokens >= self.target
        if self.full:
            self.tokens = 0
        return self

    @property
    def scope(self):
        if self.full:
            return nullcontext()
        return self.ddp.no_sync()
