"""Photometric redshifts with a per-object embedding table that is kept row-sharded."""
import os
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel as DDP

from publish import CatalogPublisher


@dataclass
class Setup:
    objects: int = 96
    bands: int = 5
    width: int = 16
    iterations: int = 50
    publish_from: int = 20


class Redshift(nn.Module):
    def __init__(self, s: Setup):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(s.bands + s.width, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, magnitudes, embedded):
        return self.body(torch.cat([magnitudes, embedded], dim=-1)).squeeze(-1)


def main(s=Setup()):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("objects",))
    torch.manual_seed(0)
    net = DDP(Redshift(s))
    table = distribute_tensor(torch.randn(s.objects, s.width) * 0.02, mesh, [Shard(0)])
    rows = table.to_local()
    rows.requires_grad_(True)
    opt = torch.optim.Adam([{"params": net.parameters()}, {"params": [rows], "lr": 1e-2}])
    publisher = CatalogPublisher(table, host_rank=world - 1, first=s.publish_from)

    rng = torch.Generator().manual_seed(50 + rank)
    for it in range(s.iterations):
        pick = torch.randint(rows.shape[0], (8,), generator=rng)
        mags = torch.randn(8, s.bands, generator=rng)
        z = mags.mean(-1).abs()
        loss = (net(mags, rows[pick]) - z).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.02)
        publisher.after(it)
        if it % 10 == 0 and rank == 0:
            print(f"{it:4d}  {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
