"""Small helpers around torch.distributed."""
import functools
import random

import torch
import torch.distributed as dist


def setup():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    return dist.get_rank(), dist.get_world_size()


def main_process(method):
    """For methods with side effects on disk or screen: the other processes return at once."""

    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        if dist.get_rank() != 0:
            return None
        return method(self, *args, **kwargs)

    return wrapper


def generator_state():
    return {"torch": torch.get_rng_state(), "python": random.getstate()}


def collected(value):
    """The values of all processes, in the order of their ranks (on the first process)."""
    values = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object(value, values, dst=0)
    return values


def averaged(value):
    total = torch.tensor([float(value)])
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()
