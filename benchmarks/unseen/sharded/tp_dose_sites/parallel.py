import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Layout:
    """A dp x tp grid of ranks; a replica is one row of it."""

    def __init__(self, tp=2):
        world = dist.get_world_size()
        self.mesh = init_device_mesh("cpu", (world // tp, tp), mesh_dim_names=("dp", "tp"))
        self.replica = self.mesh.get_local_rank("dp")
        self.speaks = self.mesh.get_local_rank("tp") == 0

    def parallelize(self, model):
        plan = {"expand": ColwiseParallel(), "contract": RowwiseParallel()}
        return parallelize_module(model, self.mesh["tp"], plan)

    def average_gradients(self, model):
        group = self.mesh.get_group("dp")
        for p in model.parameters():
            grad = p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad
            dist.all_reduce(grad, group=group)
            grad /= group.size()
