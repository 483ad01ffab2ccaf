import contextlib


class TokenAccumulation:
    """Counts the tokens of the micro-batches and says when an optimizer step is due."""

    def __init__(self, accelerator, model, budget):
        self.accelerator = accelerator
        self.model = model
        self.budget = budget
        self.tokens = 0
        self.due = False

    @contextlib.contextmanager
    def micro_batch(self, mask):
        self.tokens += int(mask.sum())
        self.due = self.tokens >= self.budget
        context = contextlib.nullcontext() if self.due else self.accelerator.no_sync(self.model)
        with context:
            yield
        if self.due:
            self.tokens = 0
