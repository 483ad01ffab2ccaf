import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def start(cfg):
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(kind)
    if kind == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    world = dist.get_world_size()
    if world % cfg.tp:
        raise ValueError(f"world size {world} is not a multiple of tp={cfg.tp}")
    mesh = init_device_mesh(kind, (world // cfg.tp, cfg.tp), mesh_dim_names=("dp", "tp"))
    return device, mesh


def parallelize(model, mesh):
    plan = {
        "mlp.gate": ColwiseParallel(),
        "mlp.up": ColwiseParallel(),
        "mlp.down": RowwiseParallel(),
    }
    for block in model.blocks:
        parallelize_module(block, mesh["tp"], plan)
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    return model
