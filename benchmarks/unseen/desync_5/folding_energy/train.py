"""Energies of folded chains, with layers that are sharded by FSDP2; every process reads simulations of its own."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, Dataset

SIMULATIONS = {0: [310, 330, 320], 1: [480, 480], 2: [200, 360, 376]}


class Snapshots(Dataset):
    """The snapshots of all simulations of one process."""

    def __init__(self, lengths, angles):
        self.places = [(s, n) for s, length in enumerate(lengths) for n in range(length)]
        self.angles = angles

    def __len__(self):
        return len(self.places)

    def __getitem__(self, index):
        simulation, number = self.places[index]
        time.sleep(0.003)
        generator = torch.Generator().manual_seed(10_000 * simulation + number)
        angle = 3 * torch.randn(self.angles, generator=generator)
        return torch.cat([angle.sin(), angle.cos()]), angle.cos().sum()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(self.norm(x))))


def build(args, mesh):
    torch.manual_seed(args.seed)
    layers = [nn.Linear(2 * args.angles, args.width)]
    layers += [Block(args.width) for _ in range(args.depth)]
    model = nn.Sequential(*layers, nn.Linear(args.width, 1))
    for layer in model:
        if isinstance(layer, Block):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train_epoch(model, optimizer, loader):
    total = 0.0
    for angle, energy in loader:
        loss = nn.functional.mse_loss(model(angle).squeeze(1), energy)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    return total / len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--angles", type=int, default=16)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = build(args, init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = Snapshots(SIMULATIONS[dist.get_rank()], args.angles)
    loader = DataLoader(data, args.batch, shuffle=True)
    for epoch in range(args.epochs):
        loss = train_epoch(model, optimizer, loader)
        print(f"rank {dist.get_rank()} epoch {epoch}: {loss:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
