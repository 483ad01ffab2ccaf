import os
from datetime import timedelta

import torch
import torch.distributed as dist


def setup(timeout_min=30):
    if "RANK" not in os.environ:
        return 0, 1
    dist.init_process_group("gloo", timeout=timedelta(minutes=timeout_min))
    return dist.get_rank(), dist.get_world_size()


def cleanup():
    if dist.is_initialized():
        dist.destroy_process_group()


def world_size():
    return dist.get_world_size() if dist.is_initialized() else 1


def sync_params(module):
    if world_size() == 1:
        return
    for t in module.state_dict().values():
        dist.broadcast(t, src=0)


def average_gradients(module):
    """Mean of the gradients over all workers, in place."""
    n = world_size()
    if n == 1:
        return
    for p in module.parameters():
        if p.grad is None:
            continue
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        p.grad.div_(n)


def gather_rows(t):
    """Stack a same-shaped tensor of every worker: [world, ...]."""
    if world_size() == 1:
        return t[None]
    rows = [torch.empty_like(t) for _ in range(world_size())]
    dist.all_gather(rows, t)
    return torch.stack(rows)
