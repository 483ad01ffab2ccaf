import torch
import torch.distributed as dist


def get_world_size():
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def get_rank():
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def is_main_process():
    return get_rank() == 0


def all_sum(values):
    t = torch.tensor(values, dtype=torch.float64, device="cuda")
    if get_world_size() > 1:
        dist.all_reduce(t)
    return t.tolist()


def any_worker(flag):
    """True on all workers as soon as it is true on one."""
    return all_sum([float(bool(flag))])[0] > 0
