import torch
import torch.distributed as dist


class MeterBank:
    """Weighted running sums of named scalars, combined over the ranks on demand."""

    def __init__(self, names, device):
        self.names = names
        self.device = device
        self.reset()

    def reset(self):
        self.values = {n: torch.zeros(2, dtype=torch.float64, device=self.device) for n in self.names}

    def update(self, weight, **scalars):
        for name, value in scalars.items():
            if name in self.values:
                self.values[name][0] += float(value) * weight
                self.values[name][1] += weight

    def averages(self):
        out = {}
        for name, pair in self.values.items():
            dist.all_reduce(pair)
            out[name] = (pair[0] / pair[1].clamp(min=1)).item()
        return out
