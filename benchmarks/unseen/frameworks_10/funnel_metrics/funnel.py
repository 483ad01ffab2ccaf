import torch
import torch.distributed as dist


class Mean:
    def __init__(self):
        self.total = torch.zeros(2)

    def add(self, values):
        self.total += torch.tensor([values.sum().item(), float(len(values))])

    def over_all_ranks(self):
        total = self.total.clone()
        dist.all_reduce(total)
        return (total[0] / total[1].clamp(min=1)).item()


class Quantile:
    """A quantile cannot be added up: the values themselves are collected."""

    def __init__(self, q):
        self.q = q
        self.values = []

    def add(self, values):
        self.values.extend(values.tolist())

    def over_all_ranks(self):
        parts = [None] * dist.get_world_size()
        dist.all_gather_object(parts, self.values)
        return torch.tensor([value for part in parts for value in part]).quantile(self.q).item()


KINDS = {"view": Mean, "click": Mean, "dwell": lambda: Quantile(0.9), "order": lambda: Quantile(0.5)}


class Funnel:
    """Errors of the model per kind of event."""

    def __init__(self):
        self.metrics = {}

    def add(self, kinds, errors):
        for kind in dict.fromkeys(kinds):
            chosen = torch.tensor([k == kind for k in kinds])
            self.metrics.setdefault(kind, KINDS[kind]()).add(errors[chosen])

    def summary(self):
        return {kind: metric.over_all_ranks() for kind, metric in self.metrics.items()}
