from collections import defaultdict

import torch
import torch.distributed as dist


class SmoothedValue:
    def __init__(self, device):
        self.stat = torch.zeros(2, device=device)

    def update(self, value, n=1):
        self.stat[0] += value.detach() * n
        self.stat[1] += n

    def synchronize(self):
        dist.all_reduce(self.stat)

    @property
    def avg(self):
        return (self.stat[0] / self.stat[1].clamp_min(1)).item()


class MetricLogger:
    def __init__(self, device):
        self.device = device
        self.reset()

    def reset(self):
        self.meters = defaultdict(lambda: SmoothedValue(self.device))

    def update(self, **values):
        for k, v in values.items():
            self.meters[k].update(v)

    def synchronize_between_processes(self):
        for meter in self.meters.values():
            meter.synchronize()

    def __str__(self):
        return "  ".join(f"{k} {m.avg:.3f}" for k, m in sorted(self.meters.items()))
