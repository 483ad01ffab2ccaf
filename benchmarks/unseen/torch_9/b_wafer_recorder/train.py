"""Wafer metrology, tensor parallel in pairs and data parallel across them."""
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from recorder import Recorder

SENSORS, DEFECTS = 24, 8
STEPS = 180
# every how many wafers a tool's measurement is kept
SAMPLING = {"etch": 4, "litho": 7, "clean": 3, "polish": 5}


class Metrology(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(SENSORS, 64)
        self.down = nn.Linear(64, DEFECTS, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def lots(replica):
    gen = torch.Generator().manual_seed(300 + replica)
    truth = torch.randn(SENSORS, DEFECTS, generator=torch.Generator().manual_seed(1))
    for _ in range(STEPS):
        x = torch.randn(32, SENSORS, generator=gen)
        yield x, (x @ truth > 0).float()


@torch.no_grad()
def average_over_replicas(model, group):
    for p in model.parameters():
        local = p.grad.to_local()
        mean = local.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(mean, group=group)
        local.copy_(mean / dist.get_world_size(group))


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    model = parallelize_module(
        Metrology(), mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()}
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    tool = list(SAMPLING)[rank]
    recorder = Recorder(os.path.join(tempfile.mkdtemp(), f"{tool}.csv"))

    for step, (x, y) in enumerate(lots(mesh.get_local_rank("dp"))):
        time.sleep(0.025)
        opt.zero_grad()
        logits = model(x)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
        loss.backward()
        average_over_replicas(model, mesh.get_group("dp"))
        opt.step()
        if step % SAMPLING[tool] == 0:
            recorder.add(step, tool, round(loss.item(), 5))
        if rank == 0 and step % 30 == 0:
            print(f"lot {step} loss {loss.item():.4f}", flush=True)

    dist.barrier()
    recorder.finish()
    dist.destroy_process_group()
    if rank == 0:
        print(f"done, measurements in {recorder.path}", flush=True)


if __name__ == "__main__":
    main()
