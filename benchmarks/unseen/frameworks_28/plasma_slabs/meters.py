"""Means of quantities, each over the ranks that it concerns."""
import torch
import torch.distributed as dist


class Board:
    """`scopes` says over which group a quantity is averaged: the flux over the slabs of one machine,
    because machines have different geometries, the energy over everything.
    """

    def __init__(self, scopes):
        self.scopes = scopes
        self.pending = {name: [] for name in scopes}

    def add(self, name, value):
        self.pending[name].append(value)

    def flush(self):
        """Average what has been collected, the fullest meter first (it holds the most memory)."""
        means = {}
        for name in sorted(self.pending, key=lambda name: -len(self.pending[name])):
            values = self.pending[name]
            total = torch.tensor([sum(values), float(len(values))])
            dist.all_reduce(total, group=self.scopes[name])
            means[name] = round((total[0] / total[1].clamp(min=1)).item(), 4)
            values.clear()
        return means
