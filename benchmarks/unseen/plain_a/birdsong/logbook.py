import time

import torch
import torch.distributed as dist


class RunningMean:
    """Mean of everything seen so far."""

    def __init__(self):
        self.sum = 0.0
        self.n = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.n += n

    @property
    def value(self):
        t = torch.tensor([self.sum, self.n], dtype=torch.float64)
        if dist.is_initialized():
            dist.all_reduce(t)
        return (t[0] / t[1]).item()

    def __format__(self, spec):
        return format(self.value, spec or ".4f")


class Logbook:
    def __init__(self, every, enabled=True):
        self.every, self.enabled = every, enabled
        self.start = time.time()

    def line(self, step, **fields):
        if not self.enabled or step % self.every:
            return
        text = " | ".join(f"{name} {field}" for name, field in fields.items())
        print(f"[{time.time() - self.start:6.1f}s] step {step} | {text}", flush=True)
