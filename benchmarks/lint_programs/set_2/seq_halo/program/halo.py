import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class LeftHalo(torch.autograd.Function):
    """Give every rank the last columns of its left neighbour's sequence chunk."""

    @staticmethod
    def forward(ctx, tail):
        rank, world = dist.get_rank(), dist.get_world_size()
        tail = tail.contiguous()
        halo = torch.zeros_like(tail)
        ops = []
        if rank + 1 < world:
            ops.append(dist.P2POp(dist.isend, tail, rank + 1))
        if rank > 0:
            ops.append(dist.P2POp(dist.irecv, halo, rank - 1))
        reqs = dist.batch_isend_irecv(ops) if ops else []
        return halo

    @staticmethod
    def backward(ctx, grad_halo):
        rank, world = dist.get_rank(), dist.get_world_size()
        grad_halo = grad_halo.contiguous()
        grad_tail = torch.zeros_like(grad_halo)
        ops = []
        if rank > 0:
            ops.append(dist.P2POp(dist.isend, grad_halo, rank - 1))
        if rank + 1 < world:
            ops.append(dist.P2POp(dist.irecv, grad_tail, rank + 1))
        reqs = dist.batch_isend_irecv(ops) if ops else []
        for r in reqs:
            r.wait()
        return grad_tail


class SeqParallelConv(nn.Module):
    """Causal depthwise-separable convolution over a sequence that is split over ranks."""

    def __init__(self, dim, kernel):
        super().__init__()
        self.pad = kernel - 1
        self.norm = nn.LayerNorm(dim)
        self.depth = nn.Conv1d(dim, dim, kernel, groups=dim)
        self.point = nn.Linear(dim, dim)

    def forward(self, x):  # x: B, T_local, C
        h = self.norm(x).transpose(1, 2)
        halo = LeftHalo.apply(h[:, :, -self.pad :])
        h = self.depth(torch.cat([halo, h], dim=2))
        return x + self.point(F.silu(h).transpose(1, 2))
