import os

import torch
import torch.distributed as dist


def infer_init():
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device_id = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(device_id)
    if world > 1:
        dist.init_process_group("nccl", init_method="env://")
    return rank, world, device_id


def all_reduce_dict(data, device):
    """Sum the (python number) values over the data parallel workers."""
    keys = sorted(data)
    t = torch.tensor([float(data[k]) for k in keys], dtype=torch.float64, device=device)
    if dist.is_initialized():
        dist.all_reduce(t)
    return dict(zip(keys, t.tolist()))


def unwrap(model):
    return model.module if hasattr(model, "module") else model
