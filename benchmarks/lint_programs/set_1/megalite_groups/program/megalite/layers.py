import torch
import torch.nn as nn
import torch.nn.functional as F

from megalite import parallel_state as mpu


class _CopyToModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        torch.distributed.all_reduce(grad, group=mpu.get_tensor_model_parallel_group())
        return grad


class _ReduceFromModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous().clone()
        torch.distributed.all_reduce(x, group=mpu.get_tensor_model_parallel_group())
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


copy_to_region = _CopyToModelParallelRegion.apply
reduce_from_region = _ReduceFromModelParallelRegion.apply


def _shard(master, dim):
    """This rank's slice of a weight that all ranks drew from the same stream."""
    world, rank = mpu.get_tensor_model_parallel_world_size(), mpu.get_tensor_model_parallel_rank()
    return nn.Parameter(master.chunk(world, dim)[rank].clone())


class ColumnParallelLinear(nn.Module):
    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.weight = _shard(torch.randn(fan_out, fan_in) * 0.02, 0)
        self.bias = _shard(torch.zeros(fan_out), 0)

    def forward(self, x):
        return F.linear(copy_to_region(x), self.weight, self.bias)


class RowParallelLinear(nn.Module):
    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.weight = _shard(torch.randn(fan_out, fan_in) * 0.02, 1)
        self.bias = nn.Parameter(torch.zeros(fan_out))

    def forward(self, x):
        return reduce_from_region(F.linear(x, self.weight)) + self.bias
