"""A codebook whose rows are divided among the processes of a mesh."""

import torch
from torch import nn
from torch.distributed.tensor import Shard, distribute_tensor


class Codebook(nn.Module):
    def __init__(self, rows, mesh):
        super().__init__()
        self.mesh = mesh
        self.table = distribute_tensor(rows, mesh, [Shard(0)])
        self.size = len(rows)
        self.unused = torch.zeros(self.size, dtype=torch.long)

    @torch.no_grad()
    def assign(self, codes):
        """The nearest row to every code, its number and itself."""
        rows = self.table.full_tensor()
        nearest = torch.cdist(codes, rows).argmin(-1)
        return nearest, rows[nearest]

    @torch.no_grad()
    def revive(self, codes, nearest, patience):
        """Rows that were not used for `patience` steps are put where there are codes. Returns how many there were."""
        used = torch.bincount(nearest, minlength=self.size) > 0
        self.unused = torch.where(used, 0, self.unused + 1)
        dead = (self.unused > patience).nonzero().flatten()
        if len(dead) == 0:
            return 0
        rows = self.table.to_local().new_zeros(self.size, codes.shape[-1])
        rows[dead] = codes[torch.arange(len(dead)) % len(codes)]
        moved = distribute_tensor(rows, self.mesh, [Shard(0)])
        keep = torch.ones(self.size, 1)
        keep[dead] = 0
        self.table = self.table * distribute_tensor(keep, self.mesh, [Shard(0)]) + moved
        self.unused[dead] = 0
        return len(dead)
