import functools
import os

import torch
import torch.distributed as torch_dist


def init_dist(backend="nccl"):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    torch_dist.init_process_group(backend=backend)
    return local_rank


def get_dist_info():
    if torch_dist.is_available() and torch_dist.is_initialized():
        return torch_dist.get_rank(), torch_dist.get_world_size()
    return 0, 1


def is_main_process():
    return get_dist_info()[0] == 0


def master_only(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        if is_main_process():
            return func(*args, **kwargs)

    return wrapper


def sum_over_ranks(values, device):
    """Sum a list of floats over all processes."""
    t = torch.tensor(values, dtype=torch.float64, device=device)
    if get_dist_info()[1] > 1:
        torch_dist.all_reduce(t)
    return t.tolist()
