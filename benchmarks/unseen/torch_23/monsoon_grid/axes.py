"""The two axes of the process grid and what is exchanged along each of them."""
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


class Axis:
    def __init__(self, mesh, name):
        self.name = name
        self.group = mesh.get_group(name)
        self.size = dist.get_world_size(self.group)

    def mean_(self, tensor):
        dist.all_reduce(tensor, group=self.group)
        return tensor.div_(self.size)


class Grid:
    """Replicas differ in their years, regions in their part of the map."""

    def __init__(self, replicas, regions):
        self.mesh = init_device_mesh("cpu", (replicas, regions), mesh_dim_names=("replica", "region"))
        self.years = Axis(self.mesh, "replica")
        self.map = Axis(self.mesh, "region")
        self.replica, self.region = self.mesh.get_coordinate()


class Exchange:
    """Averages the anomaly's moments over the map and the gradients over the years.

    From step `spread_after` on the grid is coloured like a chess board, and black fields begin with the other axis, so
    that both links of a host are in use all the time.
    """

    def __init__(self, grid, model, moments, spread_after):
        self.grid = grid
        self.model = model
        self.moments = moments
        self.spread_after = spread_after
        self.black = (grid.replica + grid.region) % 2 == 1

    def over_map(self):
        self.grid.map.mean_(self.moments)

    def over_years(self):
        flat = torch.cat([p.grad.flatten() for p in self.model.parameters()])
        self.grid.years.mean_(flat)
        start = 0
        for p in self.model.parameters():
            p.grad.copy_(flat[start : start + p.numel()].view_as(p))
            start += p.numel()

    def run(self, step):
        parts = [self.over_map, self.over_years]
        if step >= self.spread_after and self.black:
            parts.reverse()
        for part in parts:
            part()
