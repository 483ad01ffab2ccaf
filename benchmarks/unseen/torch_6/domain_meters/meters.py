import torch
import torch.distributed as dist


class Meter:
    def __init__(self):
        self.sum, self.n = 0.0, 0

    def add(self, value):
        self.sum += float(value)
        self.n += 1

    def packed(self):
        return torch.tensor([self.sum, float(self.n)], dtype=torch.float64)


class MeterBook:
    """Running means by name, averaged over the job when they are reported."""

    def __init__(self):
        self._meters = {}

    def add(self, name, value):
        self._meters.setdefault(name, Meter()).add(value)

    def synchronise(self):
        out = {}
        for name in sorted(self._meters):
            pair = self._meters[name].packed()
            dist.all_reduce(pair)
            out[name] = (pair[0] / pair[1]).item()
        # the writer may close its file only when everyone has contributed
        dist.barrier()
        self._meters.clear()
        return "  ".join(f"{k}={v:.3f}" for k, v in out.items())
