import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from backlog import Backlog

WEEKEND_HEAVY = {0, 3}      # processes whose counters stand in parks


def day(rank, step, g):
    x = torch.randn(6, 10, generator=g)
    y = x[:, :3].sum(1, keepdim=True)
    closures = 5 if rank in WEEKEND_HEAVY and step >= 20 else 1
    return x, y, closures


def main(steps=60):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("city", "street"))
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
    fully_shard(model, mesh=mesh["street"])
    optim = torch.optim.SGD(model.parameters(), lr=0.02)
    backlog = Backlog(mesh)
    g = torch.Generator().manual_seed(rank)
    for step in range(steps):
        x, y, closures = day(rank, step, g)
        error = (model(x) - y).pow(2)
        error.mean().backward()
        optim.step()
        optim.zero_grad()
        for e in error.detach()[:closures]:
            backlog.put("city", e)
        for e in error.detach()[:2]:
            backlog.put("street", e)
        time.sleep(0.03)
        if step % 10 == 9:
            summary = backlog.flush()
            if rank == 0:
                print(step, {k: round(v, 4) for k, v in summary.items()}, flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
