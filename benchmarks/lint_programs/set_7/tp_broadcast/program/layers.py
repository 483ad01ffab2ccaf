import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class CopyToGroup(torch.autograd.Function):
    """Identity forward, sum of the gradients backward."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class SumOverGroup(torch.autograd.Function):
    """Sum forward, identity backward."""

    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class ParallelMLP(nn.Module):
    """Column-parallel then row-parallel linear layer, residual around both."""

    def __init__(self, dim, hidden, layout):
        super().__init__()
        shard = hidden // layout.tp_size
        self.group = layout.tp_group
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, shard)
        self.down = nn.Linear(shard, dim, bias=False)

    def forward(self, x):
        h = CopyToGroup.apply(self.norm(x), self.group)
        h = self.down(F.gelu(self.up(h)))
        return x + SumOverGroup.apply(h, self.group)


class Regressor(nn.Module):
    def __init__(self, features, dim, hidden, depth, layout):
        super().__init__()
        self.stem = nn.Linear(features, dim)
        self.blocks = nn.ModuleList(ParallelMLP(dim, hidden, layout) for _ in range(depth))
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x).squeeze(-1)

    def seed_parameters(self, seed, tp_rank):
        """Replicated weights alike on all ranks, sharded ones alike per tp rank."""
        with torch.no_grad():
            for i, (name, p) in enumerate(self.named_parameters()):
                sharded = ".up." in name or ".down." in name
                g = torch.Generator().manual_seed(seed + 7919 * i + (1 + tp_rank if sharded else 0))
                if p.dim() > 1:
                    p.copy_(torch.randn(p.shape, generator=g) * p.shape[1] ** -0.5)
                elif name.endswith("bias"):
                    p.zero_()
