"""When gradients are exchanged."""

from contextlib import nullcontext


class Exchange:
    """Batches that say little are summed into the next one, to save an exchange.

    A batch says little if nearly all of its moves are of bullet games, which are weighted down in the loss.
    """

    def __init__(self, model, max_bullet=0.9):
        self.model, self.max_bullet = model, max_bullet
        self.saved = 0

    def is_due(self, batch):
        return batch.bullet.float().mean().item() <= self.max_bullet

    def context(self, due):
        if due:
            return nullcontext()
        self.saved += 1
        return self.model.no_sync()
