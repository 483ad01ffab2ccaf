"""Process grid: ranks [0..tp) form the first tensor-parallel group, and so on."""
import torch.distributed as dist

_TP = None
_DP = None


def initialize(tp_size):
    global _TP, _DP
    world, rank = dist.get_world_size(), dist.get_rank()
    assert world % tp_size == 0, "world size must be divisible by the tensor-parallel size"
    for start in range(0, world, tp_size):
        ranks = list(range(start, start + tp_size))
        group = dist.new_group(ranks)
        if rank in ranks:
            _TP = group
    for offset in range(tp_size):
        ranks = list(range(offset, world, tp_size))
        group = dist.new_group(ranks)
        if rank in ranks:
            _DP = group


def tp_group():
    return _TP


def dp_group():
    return _DP


def tp_rank():
    return dist.get_rank(_TP)


def tp_size():
    return dist.get_world_size(_TP)


def dp_rank():
    return dist.get_rank(_DP)


def dp_size():
    return dist.get_world_size(_DP)
