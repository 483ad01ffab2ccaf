"""Slab decomposition of the channel model along x."""
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass
class Slab:
    rank: int
    size: int
    nx: int = 48
    ny: int = 32
    periodic: bool = False

    def neighbour(self, step):
        other = self.rank + step
        if self.periodic:
            return other % self.size
        return other if 0 <= other < self.size else None

    def allocate(self, seed):
        gen = torch.Generator().manual_seed(seed + self.rank)
        field = torch.zeros(self.nx + 2, self.ny)
        field[1:-1] = torch.rand(self.nx, self.ny, generator=gen)
        return field


class HaloExchange:
    """Fills the ghost columns of a field from the neighbouring slabs."""

    def __init__(self, slab):
        self.slab = slab
        self.ghost = torch.empty(slab.ny)

    def _shift(self, field, upstream, downstream, edge, ghost_row):
        if upstream is not None:
            dist.recv(self.ghost, src=upstream)
            field[ghost_row] = self.ghost
        if downstream is not None:
            dist.send(field[edge].contiguous(), dst=downstream)

    def __call__(self, field):
        left, right = self.slab.neighbour(-1), self.slab.neighbour(+1)
        self._shift(field, left, right, edge=-2, ghost_row=0)
        self._shift(field, right, left, edge=1, ghost_row=-1)
        return field
