"""Decisions that all processes take together."""
import torch
import torch.distributed as dist


def shortest(length):
    """The number of batches that every process has."""
    value = torch.tensor([length])
    dist.all_reduce(value, op=dist.ReduceOp.MIN)
    return value.item()


def all_usable(colours):
    """True if the batch of every process can be trained on; otherwise all leave theirs out."""
    value = torch.tensor([bool(torch.isfinite(colours).all())], dtype=torch.int32)
    dist.all_reduce(value, op=dist.ReduceOp.MIN)
    return bool(value.item())


def mean(value):
    value = torch.tensor([value])
    dist.all_reduce(value)
    return value.item() / dist.get_world_size()
