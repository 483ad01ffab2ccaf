"""Kinds of calls on coral reefs; the network is sharded with FSDP2."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from recordings import CALLS, FRAMES, Gate, clips_of


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Listener(nn.Module):
    def __init__(self, width=24, depth=2):
        super().__init__()
        self.inlet = nn.Linear(FRAMES, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.outlet = nn.Linear(width, CALLS)

    def forward(self, sound):
        x = self.inlet(sound)
        for block in self.blocks:
            x = block(x)
        return self.outlet(x)


def sharded(mesh):
    torch.manual_seed(77)
    model = Listener()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def run_night(model, optimizer, clips, gate, rank):
    for number, (sound, call) in enumerate(clips):
        if not gate.audible(sound):
            continue
        logits = model(sound)
        loss = nn.functional.cross_entropy(logits, call)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and number % 50 == 0:
            print(f"batch {number}: {loss.item():.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--batches", type=int, default=350)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = sharded(init_device_mesh("cpu", (world,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    gate = Gate()
    run_night(model, optimizer, clips_of(rank, args.batch, args.batches), gate, rank)
    dist.barrier()
    if rank == 0:
        print(f"night over, {gate.closed} silent batches", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
