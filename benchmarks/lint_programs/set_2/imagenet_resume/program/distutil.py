import os

import torch
import torch.distributed as dist


def init():
    dist.init_process_group(backend="nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def is_main():
    return dist.get_rank() == 0


def log(*a):
    if is_main():
        print(*a, flush=True)
