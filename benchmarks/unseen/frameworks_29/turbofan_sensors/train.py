"""Sensor model of a turbofan, 2 x 2: data parallel by hand, tensor parallel with DTensor."""
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from flights import INPUTS, SENSORS, Fleet
from reduce import StepReducer


class SensorNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.up = nn.Linear(INPUTS, width, bias=False)
        self.down = nn.Linear(width, width, bias=False)
        self.sensors = nn.Linear(width, SENSORS, bias=False)

    def forward(self, x):
        return self.sensors(torch.tanh(self.down(torch.tanh(self.up(x)))))


def main(steps=220):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(1)
    model = parallelize_module(SensorNet(), mesh["tp"], {
        "up": ColwiseParallel(),
        "down": RowwiseParallel(),
        # four sensors on each rank, the whole vector for the loss
        "sensors": ColwiseParallel(output_layouts=Replicate()),
    })
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    reducer = StepReducer(model, mesh)

    for step, (x, y) in enumerate(Fleet(mesh.get_local_rank("dp"), steps)):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        reducer(watched=model.sensors)
        optimizer.step()
        time.sleep(0.08)                 # the simulator next door has the other core
        if step % 20 == 0 and dist.get_rank() == 0:
            print(f"step {step}: mse {loss.item():.4f}, scale {reducer.scale:.2f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
