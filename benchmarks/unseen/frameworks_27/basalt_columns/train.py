"""Surrogate for the cooling of basalt columns: tensor parallel within a host, data parallel across (DTensor)."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from gauges import Gauges
from tiles import TileReader

STEPS = 150


class Cooling(nn.Module):
    def __init__(self, cells=32, width=64):
        super().__init__()
        self.up = nn.Linear(cells, width)
        self.down = nn.Linear(width, cells)

    def forward(self, heat):
        return heat + self.down(torch.tanh(self.up(heat)))


def average_over_replicas(model, mesh):
    """Plain data parallelism over the other axis of the mesh."""
    group = mesh["dp"].get_group()
    for parameter in model.parameters():
        gradient = parameter.grad
        local = gradient.to_local() if hasattr(gradient, "to_local") else gradient
        dist.all_reduce(local, group=group)
        local /= mesh["dp"].size()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    model = parallelize_module(Cooling(), mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    reader = TileReader(dist.get_rank(), replica=mesh["dp"].get_local_rank())
    gauges = Gauges(mesh)

    for step in range(STEPS):
        heat, cooled = reader.tile(step)
        loss = nn.functional.mse_loss(model(heat), cooled)
        loss.backward()
        average_over_replicas(model, mesh)
        gauges.read(step, loss.detach(), model, reader.seconds)
        optimizer.step()
        optimizer.zero_grad()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
