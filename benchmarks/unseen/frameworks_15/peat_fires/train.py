"""Spread of peat fires over a grid of moisture; the blocks of the model are sharded with FSDP2."""

import argparse
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from console import Console

SIDE = 12


@dataclass
class Config:
    fires: int
    batch: int
    epochs: int
    width: int
    depth: int
    print_every: int


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Spread(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inlet = nn.Linear(SIDE * SIDE, config.width)
        self.blocks = nn.ModuleList(Block(config.width) for _ in range(config.depth))
        self.outlet = nn.Linear(config.width, SIDE * SIDE)

    def forward(self, moisture):
        x = self.inlet(moisture)
        for block in self.blocks:
            x = block(x)
        return self.outlet(x)


def fires(count):
    """Moisture, and where the peat has burnt: dry cells with a dry neighbour."""
    g = torch.Generator().manual_seed(44)
    moisture = torch.rand(count, SIDE, SIDE, generator=g)
    neighbours = torch.stack([moisture.roll(shift, axis) for shift in (1, -1) for axis in (1, 2)]).amin(0)
    burnt = ((moisture < 0.5) & (neighbours < 0.4)).float()
    return TensorDataset(moisture.flatten(1), burnt.flatten(1))


def shard(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def run(config, rank, world):
    torch.manual_seed(6)
    model = shard(Spread(config), init_device_mesh("cpu", (world,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = fires(config.fires)
    sampler = DistributedSampler(data, world, rank)
    loader = DataLoader(data, config.batch, sampler=sampler)
    console = Console(rank, config.print_every)
    step = 0
    for epoch in range(config.epochs):
        sampler.set_epoch(epoch)
        for moisture, burnt in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(moisture), burnt)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            console.step(step, loss.detach(), model.outlet.weight.grad)
            optimizer.zero_grad()
        dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fires", type=int, default=900)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--print-every", type=int, default=25)
    config = Config(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    run(config, dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
