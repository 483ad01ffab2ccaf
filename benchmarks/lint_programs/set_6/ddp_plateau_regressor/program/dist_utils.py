import os

import torch
import torch.distributed as dist


def setup():
    cuda = torch.cuda.is_available()
    dist.init_process_group(backend="nccl" if cuda else "gloo")
    if not cuda:
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return device


def is_main():
    return dist.get_rank() == 0


def weighted_mean(total, count, device):
    """Mean over all samples of the job, given the local sum and count."""
    packed = torch.tensor([total, count], dtype=torch.float64, device=device)
    dist.reduce(packed, dst=0)
    return (packed[0] / packed[1]).item()
