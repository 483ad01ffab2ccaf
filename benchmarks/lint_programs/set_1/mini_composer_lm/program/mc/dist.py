"""Thin layer over torch.distributed. Rank info comes from the launcher so that it is also right in workers."""
import os

import torch
import torch.distributed as td


def get_rank() -> int:
    return int(os.environ.get("RANK", 0))


def get_local_rank() -> int:
    return int(os.environ.get("LOCAL_RANK", 0))


def get_world_size() -> int:
    return int(os.environ.get("WORLD_SIZE", 1))


def initialize() -> torch.device:
    device = torch.device("cuda", get_local_rank())
    torch.cuda.set_device(device)
    td.init_process_group("nccl")
    return device


def sum_across_ranks(*values: float, device) -> list:
    t = torch.tensor(values, dtype=torch.float64, device=device)
    td.all_reduce(t)
    return t.tolist()
