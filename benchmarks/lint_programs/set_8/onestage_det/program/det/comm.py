import functools
import os

import torch
import torch.distributed as dist


def launch():
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        backend = "gloo"
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
            backend = "nccl"
        dist.init_process_group(backend)


def get_world_size():
    return dist.get_world_size() if dist.is_initialized() else 1


def get_rank():
    return dist.get_rank() if dist.is_initialized() else 0


@functools.lru_cache()
def get_global_gloo_group():
    """Scalars travel over gloo, so that they do not queue behind gradients."""
    return dist.new_group(backend="gloo")


def reduce_mean(value):
    """Average of a python number over all workers."""
    if get_world_size() == 1:
        return float(value)
    t = torch.tensor([float(value)])
    dist.all_reduce(t, group=get_global_gloo_group())
    return t.item() / get_world_size()


def reduce_dict(d):
    if get_world_size() == 1:
        return {k: float(v) for k, v in d.items()}
    keys = sorted(d)
    t = torch.stack([d[k].detach().float().cpu() for k in keys])
    dist.all_reduce(t, group=get_global_gloo_group())
    return dict(zip(keys, (t / get_world_size()).tolist()))


def shutdown():
    if dist.is_initialized():
        dist.destroy_process_group()
