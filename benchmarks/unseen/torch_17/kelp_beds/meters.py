"""Running means of a training epoch, over all processes."""
import torch
import torch.distributed as dist


class Meter:
    def __init__(self, fmt="{:.4f}"):
        self.fmt = fmt
        self.reset()

    def reset(self):
        self.total = 0.0
        self.count = 0

    def update(self, value, count=1):
        self.total += float(value) * count
        self.count += count

    def mean(self):
        """The mean over the samples of all processes."""
        pair = torch.tensor([self.total, float(self.count)])
        if dist.is_initialized():
            dist.all_reduce(pair)
        return (pair[0] / pair[1].clamp(min=1.0)).item()

    def local(self):
        return self.total / max(self.count, 1)


class MeterSet:
    def __init__(self, **meters):
        self.meters = meters

    def __getitem__(self, name):
        return self.meters[name]

    def reset(self):
        for meter in self.meters.values():
            meter.reset()

    def update(self, count, **values):
        for name, value in values.items():
            self.meters[name].update(value, count)

    def __str__(self):
        parts = []
        for name, meter in self.meters.items():
            parts.append(f"{name} {meter.fmt.format(meter.mean())}")
        return ", ".join(parts)
