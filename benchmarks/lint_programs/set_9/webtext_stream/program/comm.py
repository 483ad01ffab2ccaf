import os

import torch
import torch.distributed as dist


def init():
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    use_cuda = torch.cuda.is_available()
    if use_cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    return torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")


def get_rank():
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def get_world_size():
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def mean_over_ranks(tensor):
    tensor = tensor.detach().clone()
    dist.all_reduce(tensor)
    return tensor / get_world_size()
