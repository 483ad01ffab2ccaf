import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class _Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class _Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def full_weight(d_out, d_in):
    w = torch.empty(d_out, d_in)
    nn.init.normal_(w, std=d_in ** -0.5)
    return w


class ColumnLinear(nn.Module):
    """Each rank keeps a slice of the output rows of the full weight."""

    def __init__(self, d_in, d_out, env):
        super().__init__()
        self.env = env
        w = full_weight(d_out, d_in).chunk(env.tp_size, 0)[env.tp_rank]
        self.weight = nn.Parameter(w.clone())
        self.bias = nn.Parameter(torch.zeros(len(w)))

    def forward(self, x):
        return F.linear(_Enter.apply(x, self.env.tp_group), self.weight, self.bias)


class RowLinear(nn.Module):
    """Each rank keeps a slice of the input columns; results are summed."""

    def __init__(self, d_in, d_out, env):
        super().__init__()
        self.env = env
        w = full_weight(d_out, d_in).chunk(env.tp_size, 1)[env.tp_rank]
        self.weight = nn.Parameter(w.clone())
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        return _Leave.apply(F.linear(x, self.weight), self.env.tp_group) + self.bias
