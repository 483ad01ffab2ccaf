"""Averaging without the DDP wrapper: our export needs the bare module."""
import torch.distributed as dist


def sync(module):
    world = dist.get_world_size()
    for parameter in module.parameters():
        if parameter.grad is None:
            continue
        dist.all_reduce(parameter.grad)
        parameter.grad /= world


def same_start(module, src=0):
    for tensor in module.state_dict().values():
        dist.broadcast(tensor, src)
