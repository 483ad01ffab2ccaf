import math


class LossGuard:
    """Ends a run whose loss has left the rails.

    Keeps a running mean of the loss; `patience` micro-batches in a row that are
    not finite or lie above `factor` times that mean trip it.
    """

    def __init__(self, accelerator, factor: float, patience: int, warmup: int):
        self.accelerator = accelerator
        self.factor, self.patience, self.warmup = factor, patience, warmup
        self.mean = None
        self.seen = 0
        self.streak = 0

    def update(self, loss: float) -> None:
        self.seen += 1
        bad = not math.isfinite(loss)
        if self.mean is not None and self.seen > self.warmup:
            bad = bad or loss > self.factor * self.mean
        if bad:
            self.streak += 1
            return
        self.streak = 0
        self.mean = loss if self.mean is None else 0.98 * self.mean + 0.02 * loss

    def tripped(self) -> bool:
        if self.streak >= self.patience:
            self.accelerator.set_trigger()
            return self.accelerator.check_trigger()
        return False
