import os
import random

import numpy as np
import torch
import torch.distributed as dist


def init_distributed():
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    return torch.device("cuda", local_rank) if cuda else torch.device("cpu")


def seed_everything(seed):
    """Every rank gets its own stream, for dropout and for the noise on the coordinates."""
    seed = seed + dist.get_rank()
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def average(total, count, device):
    pair = torch.tensor([float(total), float(count)], dtype=torch.float64, device=device)
    dist.all_reduce(pair)
    return (pair[0] / pair[1]).item()
