"""Weight statistics for the dashboard."""
import json
from collections import deque

import torch.distributed as dist


def gathered(param):
    return param.full_tensor() if hasattr(param, "full_tensor") else param


class WeightProbe:
    def __init__(self, model, every, watch=("blocks.0", "head"), keep=50):
        self.params = {n: p for n, p in model.named_parameters() if n.startswith(watch)}
        self.every = every
        self.history = deque(maxlen=keep)
        self.owner = dist.get_rank() == 0

    def summarize(self):
        row = {}
        for name, p in self.params.items():
            w = gathered(p.detach())
            row[name] = {"rms": w.pow(2).mean().sqrt().item(), "max": w.abs().max().item()}
        return row

    def tick(self, step):
        if not self.owner or step == 0 or step % self.every:
            return
        self.history.append((step, self.summarize()))

    def dump(self, path):
        if self.owner:
            with open(path, "w") as f:
                json.dump(list(self.history), f)
