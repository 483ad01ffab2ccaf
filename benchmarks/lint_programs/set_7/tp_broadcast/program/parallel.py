"""Process groups of a (data x tensor) layout: tensor-parallel ranks are neighbours."""
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass
class Layout:
    rank: int
    device: torch.device
    tp_size: int
    dp_size: int
    tp_rank: int
    dp_rank: int
    tp_group: dist.ProcessGroup
    dp_group: dist.ProcessGroup


def init_layout(tp_size):
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if world % tp_size:
        raise ValueError(f"{world} ranks cannot be cut into groups of {tp_size}")
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)

    dp_size = world // tp_size
    tp_group = dp_group = None
    for d in range(dp_size):
        ranks = [d * tp_size + t for t in range(tp_size)]
        group = dist.new_group(ranks)
        if rank in ranks:
            tp_group = group
    for t in range(tp_size):
        ranks = [d * tp_size + t for d in range(dp_size)]
        group = dist.new_group(ranks)
        if rank in ranks:
            dp_group = group
    return Layout(rank, device, tp_size, dp_size, rank % tp_size, rank // tp_size, tp_group, dp_group)


def broadcast_tensors(tensors, group, src=0):
    """Send a list of tensors from the first rank of a group to its other ranks."""
    for t in tensors:
        dist.broadcast(t, src=src, group=group)
    return tensors


def average_gradients(model, layout):
    if layout.dp_size == 1:
        return
    for p in model.parameters():
        dist.all_reduce(p.grad, group=layout.dp_group)
        p.grad /= layout.dp_size
