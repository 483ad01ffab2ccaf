"""Average of the last K snapshots of this rank, then of all ranks (local SGD flavour)."""
from collections import deque

import torch
import torch.distributed as dist


class SnapshotAverager:
    def __init__(self, model, keep):
        self.model = model
        self.ring = deque(maxlen=keep)

    def push(self):
        self.ring.append({k: v.detach().clone() for k, v in self.model.state_dict().items()})

    def local_mean(self):
        first = self.ring[0]
        total = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in first.items()}
        for snapshot in self.ring:
            for name, value in snapshot.items():
                total[name] += value.double()
        return {name: (value / len(self.ring)).to(first[name].dtype) for name, value in total.items()}

    def merge(self):
        mean = self.local_mean()
        for name in mean:
            dist.all_reduce(mean[name])
            mean[name] /= dist.get_world_size()
        self.model.load_state_dict(mean)
        self.ring.clear()
