import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def start(tp):
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if cuda else "gloo")
    world = dist.get_world_size()
    if world % tp:
        raise SystemExit(f"world size {world} is not a multiple of tp={tp}")
    kind = "cuda" if cuda else "cpu"
    mesh = init_device_mesh(kind, (world // tp, tp), mesh_dim_names=("dp", "tp"))
    return mesh, torch.device(kind, torch.cuda.current_device()) if cuda else torch.device("cpu")


PLAN = {
    "attn.wq": ColwiseParallel(),
    "attn.wk": ColwiseParallel(),
    "attn.wv": ColwiseParallel(),
    "attn.wo": RowwiseParallel(),
    "mlp.up": ColwiseParallel(),
    "mlp.down": RowwiseParallel(),
}


def parallelize(model, mesh):
    for block in model.blocks:
        parallelize_module(block, mesh["tp"], PLAN)
        block.attn.heads //= mesh["tp"].size()
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    return model
