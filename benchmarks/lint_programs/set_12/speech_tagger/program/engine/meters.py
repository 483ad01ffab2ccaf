from collections import defaultdict, deque

import torch
import torch.distributed as dist

from .comm import device


class Meter:
    """Weighted running mean; `recent` is this process's, `overall` the whole job's."""

    def __init__(self, window=20):
        self.window = deque(maxlen=window)
        self.reset()

    def reset(self):
        self.total, self.count = 0.0, 0.0

    def update(self, value, n=1):
        self.window.append(value)
        self.total += value * n
        self.count += n

    @property
    def recent(self):
        return sum(self.window) / max(1, len(self.window))

    @property
    def overall(self):
        pair = torch.tensor([self.total, self.count], dtype=torch.float64, device=device())
        dist.all_reduce(pair)
        return (pair[0] / pair[1].clamp(min=1)).item()


class MeterBank:
    def __init__(self):
        self.meters = defaultdict(Meter)

    def update(self, n=1, **values):
        for name, value in values.items():
            self.meters[name].update(float(value), n)

    def reset(self):
        for meter in self.meters.values():
            meter.reset()

    def line(self):
        return "  ".join(f"{k} {m.recent:.4f}" for k, m in sorted(self.meters.items()))

    def export(self):
        return {k: m.overall for k, m in sorted(self.meters.items())}
