"""Counters that are summed over ranks every so often, each over the group that it belongs to."""
import torch
import torch.distributed as dist


class Ledger:
    def __init__(self):
        self.open = {}
        self.totals = {}

    def add(self, name, amount, group):
        if name not in self.open:
            self.open[name] = (torch.zeros(1), group)
        self.open[name][0].add_(amount)

    def settle(self):
        for name, (value, group) in self.open.items():
            dist.all_reduce(value, group=group)
            self.totals[name] = self.totals.get(name, 0.0) + value.item()
        self.open.clear()
