import os

import torch
import torch.distributed as dist


def setup():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
        return torch.device("cuda", local_rank)
    return torch.device("cpu")


def is_main():
    return dist.get_rank() == 0


def reduce_dict(values):
    """Mean over the ranks of a dict of scalar tensors."""
    world = dist.get_world_size()
    if world < 2:
        return values
    names = sorted(values)
    stacked = torch.stack([values[k].detach().float() for k in names])
    dist.reduce(stacked, dst=0)
    stacked /= world
    return dict(zip(names, stacked))
