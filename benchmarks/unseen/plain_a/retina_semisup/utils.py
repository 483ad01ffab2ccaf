import time
from collections import defaultdict, deque

import torch
import torch.distributed as dist


class Meter:
    """Tracks a series of values; the mean is over the whole series."""

    def __init__(self, window=20):
        self.recent = deque(maxlen=window)
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.recent.append(value)
        self.total += value
        self.count += 1

    def reduce(self):
        pair = torch.tensor([self.count, self.total], dtype=torch.float64)
        dist.barrier()
        dist.all_reduce(pair)
        self.count, self.total = int(pair[0]), pair[1].item()

    @property
    def median(self):
        return torch.tensor(list(self.recent)).median().item()

    @property
    def mean(self):
        return self.total / max(self.count, 1)


class MeterSet:
    def __init__(self, delimiter="\t"):
        self.meters = defaultdict(Meter)
        self.delimiter = delimiter

    def update(self, **kwargs):
        for name, value in kwargs.items():
            self.meters[name].add(value)

    def reduce_over_ranks(self):
        for name in sorted(self.meters):
            self.meters[name].reduce()

    def log_every(self, iterable, freq, header):
        start = time.time()
        for i, obj in enumerate(iterable):
            yield obj
            if i % freq == 0:
                parts = [f"{k}: {m.median:.4f} ({m.mean:.4f})" for k, m in self.meters.items()]
                print(self.delimiter.join([header, f"{i}", *parts]))
        print(f"{header} took {time.time() - start:.1f}s")


def init_distributed_mode():
    dist.init_process_group(backend="gloo", init_method="env://")
    rank = dist.get_rank()
    return rank, dist.get_world_size()
