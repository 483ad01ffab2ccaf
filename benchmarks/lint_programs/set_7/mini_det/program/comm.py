import os

import torch
import torch.distributed as dist

_CPU_GROUP = None


def init():
    global _CPU_GROUP
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        dist.init_process_group("nccl")
    else:
        device = torch.device("cpu")
        dist.init_process_group("gloo")
    _CPU_GROUP = dist.new_group(backend="gloo")
    return device


def get_world_size():
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def get_rank():
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def is_main_process():
    return get_rank() == 0


def reduce_dict(values):
    if get_world_size() == 1:
        return values
    names = sorted(values)
    packed = torch.tensor([values[k] for k in names], dtype=torch.float64)
    dist.all_reduce(packed, group=_CPU_GROUP)
    packed /= get_world_size()
    return dict(zip(names, packed.tolist()))
