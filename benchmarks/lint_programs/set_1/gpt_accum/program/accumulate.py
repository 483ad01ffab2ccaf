"""Gradient accumulation for DDP models."""
from contextlib import nullcontext


class Accumulator:
    """Splits the batches of an epoch into windows of `every`; the last window may be shorter.

        for i, batch in enumerate(loader):
            with acc.micro_step(i):
                acc.scale(i, loss_fn(batch)).backward()
            if acc.due(i):
                optimizer.step()
    """

    def __init__(self, model, every, num_batches):
        self.model = model
        self.every = every
        self.num_batches = num_batches
        self.full = num_batches // every * every

    def window(self, i):
        return self.every if i < self.full else self.num_batches - self.full

    def scale(self, i, loss):
        return loss / self.window(i)

    def due(self, i):
        return (i + 1) % self.every == 0 or i + 1 == self.num_batches

    def micro_step(self, i):
        if (i + 1) % self.every == 0:
            return nullcontext()
        return self.model.no_sync()
