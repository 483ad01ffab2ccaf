import os

import torch
import torch.distributed as dist
from torch.distributed.nn.functional import all_gather


def setup():
    use_cuda = torch.cuda.is_available()
    local_rank = get_local_rank()
    if use_cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    return torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")


def get_rank():
    return dist.get_rank()


def get_local_rank():
    return int(os.environ["LOCAL_RANK"])


def get_world_size():
    return dist.get_world_size()


def is_main():
    return get_rank() == 0


def barrier():
    dist.barrier()


def gather_with_grad(t):
    return torch.cat(all_gather(t.contiguous()), dim=0)
