"""A 2 x 2 mesh: tensor-parallel rows and data-parallel columns, and ranks that disagree on which comes first."""

import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


class Layer:
    """Partial sums along the row, gradients along the column."""

    def __init__(self, width: int) -> None:
        self.mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
        self.partial = torch.ones(width)
        self.gradient = torch.ones(width)

    def reduce_partial(self) -> None:
        dist.all_reduce(self.partial, group=self.mesh.get_group("tensor"))

    def reduce_gradient(self) -> None:
        dist.all_reduce(self.gradient, group=self.mesh.get_group("data"))


def main() -> None:
    dist.init_process_group("gloo")
    layer = Layer(32)
    row, column = layer.mesh.get_coordinate() or [0, 0]
    for step in range(8):
        overlapped = step == 5 and row != column
        for reduce in (
            (layer.reduce_gradient, layer.reduce_partial)
            if overlapped
            else (
                layer.reduce_partial,
                layer.reduce_gradient,
            )
        ):
            reduce()
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    main()
