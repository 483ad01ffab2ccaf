import os
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass
class Env:
    rank: int
    world: int
    tp_size: int
    tp_rank: int
    dp_size: int
    dp_rank: int
    tp_group: object
    dp_group: object
    device: torch.device


def init_env(tp_size, seed):
    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        device = torch.device("cuda", local_rank)
        dist.init_process_group("nccl")
    else:
        device = torch.device("cpu")
        dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    assert world % tp_size == 0
    dp_size = world // tp_size
    for i in range(dp_size):
        ranks = list(range(i * tp_size, (i + 1) * tp_size))
        group = dist.new_group(ranks)
        if rank in ranks:
            tp_group = group
    for j in range(tp_size):
        ranks = list(range(j, world, tp_size))
        group = dist.new_group(ranks)
        if rank in ranks:
            dp_group = group
    torch.manual_seed(seed + rank)
    return Env(rank, world, tp_size, rank % tp_size, dp_size, rank // tp_size,
               tp_group, dp_group, device)
