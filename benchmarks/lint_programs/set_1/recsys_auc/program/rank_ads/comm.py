"""Thin layer over torch.distributed."""
import os

import torch
import torch.distributed as dist


def start() -> torch.device:
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    return torch.device("cuda", gpu)


def rank() -> int:
    return dist.get_rank()


def size() -> int:
    return dist.get_world_size()


def smallest(n: int, device) -> int:
    t = torch.tensor(n, device=device)
    dist.all_reduce(t, op=dist.ReduceOp.MIN)
    return int(t)


def gather_stack(t: torch.Tensor) -> torch.Tensor:
    """[...] on every process -> [world, ...]"""
    rows = [torch.empty_like(t) for _ in range(size())]
    dist.all_gather(rows, t.contiguous())
    return torch.stack(rows)


def gather_concat(t: torch.Tensor) -> torch.Tensor:
    """The vectors of all processes, one after the other."""
    return gather_stack(t).flatten()
