import torch
import torch.distributed as dist


class Meter:
    """Weighted running mean."""

    def __init__(self, device):
        self.acc = torch.zeros(2, dtype=torch.float64, device=device)

    def update(self, value, n):
        self.acc += torch.tensor([float(value) * n, float(n)], dtype=torch.float64, device=self.acc.device)

    @property
    def avg(self):
        return (self.acc[0] / self.acc[1].clamp(min=1)).item()

    def synced(self):
        both = self.acc.clone()
        if dist.is_initialized():
            dist.all_reduce(both)
        return (both[0] / both[1].clamp(min=1)).item()
