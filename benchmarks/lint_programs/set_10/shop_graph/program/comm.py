import os

import torch
import torch.distributed as dist


def init():
    local = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local)
        dist.init_process_group("nccl")
        return torch.device("cuda", local)
    dist.init_process_group("gloo")
    return torch.device("cpu")


@torch.no_grad()
def broadcast_parameters(module, src=0):
    for t in module.state_dict().values():
        dist.broadcast(t, src)


@torch.no_grad()
def average_gradients(module):
    world = dist.get_world_size()
    for p in module.parameters():
        if p.grad is None:
            continue
        dist.all_reduce(p.grad)
        p.grad /= world


def mean_over_ranks(value, device):
    t = torch.tensor(float(value), device=device)
    dist.all_reduce(t)
    return t.item() / dist.get_world_size()
