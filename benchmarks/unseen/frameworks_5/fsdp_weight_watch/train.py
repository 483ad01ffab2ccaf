"""A small decoder trained with fully_shard on random token streams."""
import argparse
import os
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from watch import CsvWriter, WeightWatch


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mix = nn.Linear(dim, dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        x = x + self.mix(self.norm(x).cumsum(1) / x.shape[1])
        return x + self.down(F.gelu(self.up(x)))


class Decoder(nn.Module):
    def __init__(self, vocabulary=64, dim=16, depth=3):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=45)
    parser.add_argument("--watch", nargs="*", default=["head.weight", "blocks.0.mix.weight"])
    parser.add_argument("--watch-every", type=int, default=15)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("shard",))
    torch.manual_seed(0)
    model = Decoder()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    path = os.path.join(tempfile.gettempdir(), f"weights_{os.getpid()}.csv")
    watch = WeightWatch(model, args.watch, args.watch_every, CsvWriter(path) if rank == 0 else None)
    generator = torch.Generator().manual_seed(1000 + rank)
    for step in range(args.steps):
        tokens = torch.randint(0, 64, (4, 13), generator=generator)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        watch(step)
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0 and step % 5 == 0:
            print(f"{step:4d} {mean.item() / dist.get_world_size():.4f}", flush=True)
        time.sleep(0.02)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
