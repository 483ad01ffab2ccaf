from collections import defaultdict

import torch
import torch.distributed as dist


class MetricBook:
    """Sums per key until `close`, which returns the mean over all vehicles."""

    def __init__(self):
        self._sums = defaultdict(lambda: torch.zeros(2))

    def add(self, key, errors):
        self._sums[key] += torch.tensor([float(errors.sum()), float(errors.numel())])

    def _pool(self):
        for key in sorted(self._sums):
            dist.all_reduce(self._sums[key])

    def close(self):
        self._pool()
        means = {key: float(s / n) for key, (s, n) in self._sums.items()}
        self._sums.clear()
        return means
