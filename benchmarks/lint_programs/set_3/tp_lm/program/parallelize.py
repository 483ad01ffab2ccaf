import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def setup(tp):
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if cuda else "gloo")
    world = dist.get_world_size()
    assert world % tp == 0, f"world size {world} is not divisible by tp={tp}"
    kind = "cuda" if cuda else "cpu"
    mesh = init_device_mesh(kind, (world // tp, tp), mesh_dim_names=("dp", "tp"))
    return mesh, torch.device(kind, torch.cuda.current_device()) if cuda else torch.device(kind)


def apply(model, mesh):
    for layer in model.layers:
        parallelize_module(layer.mlp, mesh["tp"], {
            "gate": ColwiseParallel(),
            "up": ColwiseParallel(),
            "down": RowwiseParallel(),
        })
    for layer in model.layers:
        fully_shard(layer, mesh=mesh["dp"])
    return fully_shard(model, mesh=mesh["dp"])
