"""Meters that are merged over the ranks at the end of an epoch."""

import torch
import torch.distributed as dist


class MeanMeter:
    def __init__(self):
        self.total = torch.zeros(2)

    def update(self, values):
        self.total += torch.tensor([values.sum().item(), values.numel()])

    def merge(self):
        dist.all_reduce(self.total)
        return (self.total[0] / self.total[1]).item()


class QuantileMeter:
    """Keeps the largest values; 64 per rank are enough for the tail."""

    def __init__(self, keep=64):
        self.kept = torch.zeros(keep)

    def update(self, values):
        self.kept = torch.cat([self.kept, values]).topk(len(self.kept)).values

    def merge(self):
        parts = [torch.empty_like(self.kept) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, self.kept)
        return torch.cat(parts).quantile(0.95).item()


KINDS = {"city": QuantileMeter, "rural": MeanMeter}


class Meters:
    def __init__(self):
        self.by_route = {}

    def update(self, route, values):
        if route not in self.by_route:
            self.by_route[route] = KINDS[route]()
        self.by_route[route].update(values)

    def merge(self):
        return {route: meter.merge() for route, meter in self.by_route.items()}
