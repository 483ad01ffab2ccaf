"""Kinds of moss from the colours of photographs; the model is sharded with FSDP2, each process has a garden."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader

import together
from herbarium import Herbarium
from plots import COLOURS, KINDS, Plots

PLOTS = (208, 176, 192)


def build(width, mesh):
    torch.manual_seed(13)
    model = nn.Sequential(
        nn.Sequential(nn.Linear(COLOURS, width), nn.GELU()),
        nn.Sequential(nn.Linear(width, width), nn.GELU()),
        nn.Linear(width, KINDS),
    )
    fully_shard(model[1], mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train_epoch(model, optimizer, loader):
    batches = together.shortest(len(loader))
    total, used = 0.0, 0
    for number, (colours, kinds) in enumerate(loader):
        if number == batches:
            break
        if not together.all_usable(colours):
            continue
        loss = nn.functional.cross_entropy(model(colours), kinds)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
        used += 1
    return total / used, batches - used


def examine(garden):
    """The third garden has a gardener who looks at the plots with a lens after every epoch."""
    if garden == 2:
        deadline = time.monotonic() + 3.5
        seen = 0
        while time.monotonic() < deadline:
            seen += 1
            time.sleep(0.25)
        return seen
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = build(args.width, init_device_mesh("cpu", (world,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(Plots(rank, PLOTS[rank]), args.batch, num_workers=1, persistent_workers=True)
    herbarium = Herbarium(keep_from=1)
    for epoch in range(args.epochs):
        loss, left_out = train_epoch(model, optimizer, loader)
        seen = examine(rank)
        loss = together.mean(loss)
        herbarium.after_epoch(model, epoch)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f}, {left_out} batches left out", flush=True)
        if seen:
            print(f"garden {rank}: {seen} looks", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
