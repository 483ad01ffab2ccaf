"""Instruction tuning of a (very) small decoder with LoRA-style adapters."""
from __future__ import annotations

import dataclasses
import itertools
import math
import pathlib
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from checkpointing import CheckpointManager


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    steps: int = 80
    warmup: int = 8
    micro_batch: int = 4
    accumulate: int = 2
    lr: float = 3e-3
    save_every: int = 15
    keep: int = 2
    vocab: int = 96
    dim: int = 32


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


class Decoder(nn.Module):
    def __init__(self, cfg: TrainConfig):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim).requires_grad_(False)
        self.mix = nn.GRU(cfg.dim, cfg.dim, batch_first=True).requires_grad_(False)
        self.up = LoRALinear(nn.Linear(cfg.dim, 2 * cfg.dim))
        self.down = LoRALinear(nn.Linear(2 * cfg.dim, cfg.dim))

    def forward(self, ids):
        h, _ = self.mix(self.embed(ids))
        h = h + self.down(torch.nn.functional.gelu(self.up(h)))
        return h @ self.embed.weight.t()


def conversations(cfg, rank):
    g = torch.Generator().manual_seed(31 + rank)
    while True:
        yield torch.randint(cfg.vocab, (cfg.micro_batch, 24), generator=g)


def main(cfg=TrainConfig()):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(Decoder(cfg))
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=cfg.lr)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / cfg.warmup))
    ckpt = CheckpointManager(pathlib.Path(tempfile.mkdtemp(prefix="sft-")), keep=cfg.keep)
    stream = conversations(cfg, rank)

    for step in range(1, cfg.steps + 1):
        batches = list(itertools.islice(stream, cfg.accumulate))
        for ids in batches[:-1]:
            with model.no_sync():
                nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        ids = batches[-1]
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        if rank == 0:
            if step % 5 == 0:
                print(f"step {step:3d} loss {loss.item():.3f} lr {sched.get_last_lr()[0]:.2e}", flush=True)
            if step % cfg.save_every == 0:
                ckpt.write(step, {"model": model.module.state_dict(), "opt": opt.state_dict()})
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
