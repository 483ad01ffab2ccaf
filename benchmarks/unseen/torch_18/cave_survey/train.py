"""Wet and dry rock in cave scans; the network is sharded with FSDP2."""
import argparse
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader

from clouds import Passages, PointBudget, collate

# wide passages of the three parties: scan -> how many times the points of a usual one
HALLS = [
    {38: 1.4, 201: 1.5, 330: 1.3},
    {90: 1.3, 161: 2.6, 163: 2.2},
    {12: 1.5, 402: 1.4},
]


@dataclass
class Config:
    scans: int = 1200
    batch: int = 4
    typical: int = 800
    limit: int = 2048
    width: int = 48
    depth: int = 3
    lr: float = 1e-3
    clip: float = 1.0
    epochs: int = 2


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Classifier(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.lift = nn.Linear(3, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, points):
        x = self.lift(points)
        for block in self.blocks:
            x = block(x)
        return self.out(x)[:, 0]


def shard(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train_batch(model, optimizer, budget, batch, clip):
    optimizer.zero_grad()
    total = 0.0
    for points, wet, share in budget.passes(*batch):
        logits = model(points)
        loss = share * nn.functional.binary_cross_entropy_with_logits(logits, wet)
        loss.backward()
        total += loss.item()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total, norm.full_tensor().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=Config.epochs)
    parser.add_argument("--limit", type=int, default=Config.limit)
    args = parser.parse_args()
    config = Config(epochs=args.epochs, limit=args.limit)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(5)
    model = shard(Classifier(config.width, config.depth), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    data = Passages(config.scans, config.typical, HALLS[rank % len(HALLS)], seed=rank + 1)
    loader = DataLoader(data, batch_size=config.batch, collate_fn=collate)
    budget = PointBudget(config.limit)
    for epoch in range(config.epochs):
        for number, batch in enumerate(loader):
            loss, norm = train_batch(model, optimizer, budget, batch, config.clip)
            if rank == 0 and number % 25 == 0:
                print(f"epoch {epoch} batch {number} loss {loss:.4f} norm {norm:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
