import time


class Budget:
    """Wall clock allowance of a notebook session (they are cut off without notice)."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.t0 = time.monotonic()

    @property
    def spent(self):
        return time.monotonic() - self.t0

    def left(self):
        return self.seconds - self.spent


def within(loader, budget, reserve=1.0):
    """Yield batches while there is allowance left to write the submission."""
    for batch in loader:
        if budget.left() < reserve:
            break
        yield batch
