"""Thin wrappers so that the same script runs with and without torchrun."""
import os

import torch.distributed as dist


def setup_distributed():
    if "WORLD_SIZE" in os.environ and int(os.environ["WORLD_SIZE"]) > 1:
        dist.init_process_group(backend="gloo")


def get_rank():
    if not dist.is_available() or not dist.is_initialized():
        return 0
    return dist.get_rank()


def get_world_size():
    if not dist.is_available() or not dist.is_initialized():
        return 1
    return dist.get_world_size()


def is_main_process():
    return get_rank() == 0


def all_sum(tensor):
    if get_world_size() > 1:
        dist.all_reduce(tensor)
    return tensor


def cleanup():
    if dist.is_initialized():
        dist.destroy_process_group()
