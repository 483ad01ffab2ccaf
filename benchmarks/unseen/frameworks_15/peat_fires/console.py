"""What a run prints while it trains."""

import time


class Meter:
    """Smoothed value of a loss."""

    def __init__(self, decay=0.9):
        self.decay = decay
        self.value = None

    def update(self, value):
        self.value = value if self.value is None else self.decay * self.value + (1 - self.decay) * value
        return self.value


class Console:
    """Prints loss, the norm of the outlet's gradient and the speed of the first rank every `every` steps."""

    def __init__(self, rank, every):
        self.rank = rank
        self.every = every
        self.meter = Meter()
        self.since = time.monotonic()

    def step(self, step, loss, grad):
        smooth = self.meter.update(loss.item())
        if self.rank != 0 or step % self.every:
            return
        seconds = time.monotonic() - self.since
        self.since = time.monotonic()
        print(
            f"step {step:4d}  loss {smooth:.4f}  outlet {self.scalar(grad.norm()):.4f}  {self.every / seconds:.1f} steps/s",
            flush=True,
        )

    @staticmethod
    def scalar(value):
        """A number, also from a distributed tensor."""
        if hasattr(value, "full_tensor"):
            value = value.full_tensor()
        return value.item()
