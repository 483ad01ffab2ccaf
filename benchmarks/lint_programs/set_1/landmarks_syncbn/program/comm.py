"""Small helpers around torch.distributed."""
import os
from contextlib import contextmanager

import torch
import torch.distributed as dist


@contextmanager
def distributed(backend="nccl"):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group(backend)
    yield torch.device("cuda", local_rank)
    dist.destroy_process_group()


def is_chief():
    return dist.get_rank() == 0


def sum_over_ranks(*values, device):
    t = torch.tensor(values, dtype=torch.float64, device=device)
    dist.all_reduce(t)
    return t.tolist()


def bn_group(size):
    """Group of `size` neighbouring ranks that share their batch-norm statistics."""
    world, rank = dist.get_world_size(), dist.get_rank()
    if world % size:
        raise ValueError(f"world size {world} is no multiple of the batch-norm group size {size}")
    first = rank // size * size
    return dist.new_group(list(range(first, first + size)))
