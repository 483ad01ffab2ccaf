"""Temperature of the glass that leaves a furnace; FSDP2 on the processor."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from heat import COUPLES, rounds_of
from keeper import Keeper


class Outlet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(COUPLES, width), nn.GELU())
        self.second = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.last = nn.Linear(width, 1)

    def forward(self, couples):
        return self.last(self.second(self.first(couples))).squeeze(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--keep-every", type=int, default=60)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(50)
    model = Outlet()
    for part in (model.first, model.second):
        fully_shard(part, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    keeper = Keeper(model, args.keep_every)
    for step, (couples, outlet) in enumerate(rounds_of(rank, args.rounds), start=1):
        loss = nn.functional.mse_loss(model(couples), outlet)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        keeper.after(step)
    dist.barrier()
    if rank == 0:
        print(f"{keeper.kept} times kept, loss {loss.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
