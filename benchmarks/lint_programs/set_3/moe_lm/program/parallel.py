import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def init():
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if cuda else "gloo")
    kind = "cuda" if cuda else "cpu"
    mesh = init_device_mesh(kind, (dist.get_world_size(),))
    return mesh, torch.device(kind, torch.cuda.current_device()) if cuda else torch.device(kind)


def shard(model, mesh):
    for layer in model.layers:
        for expert in layer.moe.experts:
            fully_shard(expert, mesh=mesh)
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)
