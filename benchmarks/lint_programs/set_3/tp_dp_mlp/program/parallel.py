import torch
import torch.distributed as dist


class Topology:
    """ranks = dp-major, tp-minor: [[0, 1], [2, 3], ...]"""

    def __init__(self, tp):
        world, self.rank = dist.get_world_size(), dist.get_rank()
        assert world % tp == 0
        self.tp, self.dp = tp, world // tp
        self.tp_rank, self.dp_rank = self.rank % tp, self.rank // tp
        for d in range(self.dp):
            ranks = list(range(d * tp, (d + 1) * tp))
            group = dist.new_group(ranks)
            if self.rank in ranks:
                self.tp_group = group
        for t in range(tp):
            ranks = list(range(t, world, tp))
            group = dist.new_group(ranks)
            if self.rank in ranks:
                self.dp_group = group


class _Copy(torch.autograd.Function):
    """Identity forward, sum of the gradients over the tp group backward."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.contiguous().clone()
        dist.all_reduce(g, group=ctx.group)
        return g, None


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, None


def copy_to_tp(x, topo):
    return _Copy.apply(x, topo.tp_group)


def reduce_from_tp(x, topo):
    return _Reduce.apply(x, topo.tp_group)


def broadcast_batch(batch, topo, src=0):
    """Only the first rank of a tp group reads data, the others get it from there."""
    dist.broadcast(batch, src=src, group=topo.tp_group)
    return batch


def average_over_dp(params, topo):
    for p in params:
        dist.all_reduce(p.grad, group=topo.dp_group)
        p.grad /= topo.dp
