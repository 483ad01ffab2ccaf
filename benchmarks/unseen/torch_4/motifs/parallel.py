"""Two-dimensional parallel plan: replicas of tensor-parallel pairs."""
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Grid:
    def __init__(self, replicas, shards):
        self.mesh = init_device_mesh("cpu", (replicas, shards), mesh_dim_names=("dp", "tp"))
        self.replica = self.mesh["dp"].get_local_rank()
        self.replicas = replicas

    def split(self, layer):
        parallelize_module(layer, self.mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})

    def average(self, module):
        group = self.mesh["dp"].get_group()
        for p in module.parameters():
            grad = p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad
            dist.all_reduce(grad, group=group)
            grad /= self.replicas


class Telemetry:
    """Keeps an eye on the spectrum of the wide matrices."""

    def __init__(self, every, sink=print):
        self.every, self.sink = every, sink
        self.enabled = dist.get_rank() == 0

    def __call__(self, step, model):
        if not self.enabled or step % self.every:
            return
        for name, parameter in model.named_parameters():
            if isinstance(parameter, DTensor) and parameter.ndim == 2:
                whole = parameter.detach().full_tensor()
                self.sink(f"{step:4d} {name}: {whole.norm():.3f}", flush=True)
