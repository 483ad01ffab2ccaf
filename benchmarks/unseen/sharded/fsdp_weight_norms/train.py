"""Next-character pretraining of a small decoder with FSDP2."""
import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from telemetry import RunTelemetry


@dataclass
class ModelArgs:
    vocab: int = 96
    dim: int = 48
    layers: int = 3
    context: int = 32


class Block(nn.Module):
    def __init__(self, a: ModelArgs):
        super().__init__()
        self.norm = nn.LayerNorm(a.dim)
        self.mix = nn.Linear(a.context, a.context)
        self.ff = nn.Sequential(nn.Linear(a.dim, 4 * a.dim), nn.GELU(), nn.Linear(4 * a.dim, a.dim))
        self.register_buffer("causal", torch.tril(torch.ones(a.context, a.context)))

    def forward(self, x):
        w = self.mix.weight * self.causal
        h = F.linear(self.norm(x).transpose(1, 2), w, self.mix.bias).transpose(1, 2)
        x = x + h
        return x + self.ff(x)


class Decoder(nn.Module):
    def __init__(self, a: ModelArgs):
        super().__init__()
        self.tok = nn.Embedding(a.vocab, a.dim)
        self.blocks = nn.ModuleList(Block(a) for _ in range(a.layers))
        self.out = nn.Linear(a.dim, a.vocab)

    def forward(self, ids):
        x = self.tok(ids)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def batches(args: ModelArgs, rank: int, batch_size: int):
    g = torch.Generator().manual_seed(1000 + rank)
    while True:
        start = torch.randint(0, args.vocab, (batch_size, 1), generator=g)
        ids = (start + 3 * torch.arange(args.context + 1)) % args.vocab
        yield ids[:, :-1], ids[:, 1:]


def main():
    cli = argparse.ArgumentParser()
    cli.add_argument("--steps", type=int, default=200)
    cli.add_argument("--log-every", type=int, default=25)
    cli.add_argument("--run-dir", type=Path, default=Path(tempfile.gettempdir()) / "char-decoder")
    opt = cli.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("shard",))

    torch.manual_seed(7)
    margs = ModelArgs()
    model = Decoder(margs)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optim = torch.optim.AdamW(model.parameters(), lr=3e-3)
    telemetry = RunTelemetry(opt.run_dir, opt.log_every).watch(model)

    stream = batches(margs, rank, batch_size=8)
    for step in range(1, opt.steps + 1):
        ids, target = next(stream)
        loss = F.cross_entropy(model(ids).flatten(0, 1), target.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim.step()
        optim.zero_grad()

        shown = loss.detach().clone()
        dist.all_reduce(shown)
        telemetry.log(step, loss=shown.item() / world)
        time.sleep(0.02)

    telemetry.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
