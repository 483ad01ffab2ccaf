import torch
import torch.distributed as dist


class Meter:
    def __init__(self, device):
        self.values = torch.zeros(3, dtype=torch.float64, device=device)

    def add(self, loss, correct):
        self.values += torch.stack([loss.double().sum(), correct.double().sum(), torch.tensor(float(len(loss)), device=loss.device).double()])

    def summary(self):
        loss, correct, count = self.values.tolist()
        return {"logloss": loss / max(count, 1), "accuracy": correct / max(count, 1), "count": int(count)}


class MeterBank:
    """Named meters."""

    def __init__(self, device):
        self.device = device
        self.meters = {}

    def __getitem__(self, name):
        if name not in self.meters:
            self.meters[name] = Meter(self.device)
        return self.meters[name]

    def synchronize(self):
        for name, meter in sorted(self.meters.items()):
            dist.all_reduce(meter.values)
        return self

    def table(self):
        return {name: meter.summary() for name, meter in sorted(self.meters.items())}
