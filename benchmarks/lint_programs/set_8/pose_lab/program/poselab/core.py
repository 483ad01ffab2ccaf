import os

import torch
import torch.distributed as dist


class Registry:
    def __init__(self, name):
        self.name = name
        self._modules = {}

    def register(self, cls):
        self._modules[cls.__name__] = cls
        return cls

    def build(self, cfg, **extra):
        cfg = dict(cfg)
        kind = cfg.pop("type")
        if kind not in self._modules:
            raise KeyError(f"{kind} is not in the {self.name} registry")
        return self._modules[kind](**cfg, **extra)


MODELS = Registry("models")
DATASETS = Registry("datasets")
SAMPLERS = Registry("samplers")
HOOKS = Registry("hooks")


def init_dist():
    if "RANK" not in os.environ:
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
    else:
        dist.init_process_group("gloo")


def get_dist_info():
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def collect_results(part, size):
    """Gather the per-process result lists, return all `size` of them on rank 0."""
    rank, world = get_dist_info()
    if world == 1:
        return part[:size]
    parts = [None] * world
    dist.all_gather_object(parts, part)
    if rank != 0:
        return None
    ordered = []
    for p in parts:
        ordered.extend(p)
    return ordered[:size]


def reduce_mean(value):
    _, world = get_dist_info()
    if world == 1:
        return value
    value = value.detach().clone()
    dist.all_reduce(value.div_(world))
    return value
