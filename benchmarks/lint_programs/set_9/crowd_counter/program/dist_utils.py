import os

import torch
import torch.distributed as dist


def init_distributed():
    if "RANK" not in os.environ:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu"), 0, 0, 1
    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        dist.init_process_group("nccl")
        device = torch.device("cuda", local_rank)
    else:
        dist.init_process_group("gloo")
        device = torch.device("cpu")
    return device, dist.get_rank(), local_rank, dist.get_world_size()


def is_dist():
    return dist.is_available() and dist.is_initialized()


def reduce_sum(tensor):
    """Sum of a tensor over the processes; the input is left as it is."""
    if not is_dist():
        return tensor
    tensor = tensor.clone()
    dist.reduce(tensor, dst=0, op=dist.ReduceOp.SUM)
    return tensor


def barrier():
    if is_dist():
        dist.barrier()


def cleanup():
    if is_dist():
        dist.destroy_process_group()
