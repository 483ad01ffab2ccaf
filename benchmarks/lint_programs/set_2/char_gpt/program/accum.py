from contextlib import nullcontext


class GradAccumulator:
    """Runs an optimizer step every `every` micro batches and once more for what is left of the epoch."""

    def __init__(self, model, every, num_batches):
        self.model = model
        self.every = every
        self.num_batches = num_batches

    def is_step(self, i):
        return (i + 1) % self.every == 0 or i + 1 == self.num_batches

    def window(self, i):
        """Micro batches in the window that batch i belongs to."""
        start = i - i % self.every
        return min(self.every, self.num_batches - start)

    def sync_context(self, i):
        if (i + 1) % self.every == 0:
            return nullcontext()
        return self.model.no_sync()
