"""Thin wrappers, so that the rest also runs without a process group."""
import torch.distributed as dist


def initialized():
    return dist.is_available() and dist.is_initialized()


def get_rank():
    return dist.get_rank() if initialized() else 0


def get_world_size():
    return dist.get_world_size() if initialized() else 1


def is_main_process():
    return get_rank() == 0


def synchronize():
    if initialized() and get_world_size() > 1:
        dist.barrier()
