"""Pretrain a character model on packed blocks; torchrun --nproc-per-node 3 train.py"""
import argparse
import os
import time
from dataclasses import dataclass

import torch
from lightning.fabric import Fabric
from torch import nn

from accumulate import TokenAccumulation


@dataclass
class Config:
    vocab: int = 96
    dim: int = 32
    block: int = 24
    rows: int = 4
    micro_batches: int = 120
    target_tokens: int = 380
    log_every: int = 8


class CharModel(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.rnn = nn.GRU(cfg.dim, cfg.dim, batch_first=True)
        self.out = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


def packed_blocks(cfg: Config, rank: int):
    """Blocks of `block` characters; the last block of a book is as long as what is left of it."""
    g = torch.Generator().manual_seed(100 + rank)
    ends = {0: (30,), 1: (), 2: ()}.get(rank, ())
    for i in range(cfg.micro_batches):
        ids = torch.randint(1, cfg.vocab, (cfg.rows, cfg.block), generator=g)
        if i in ends:
            ids[-1, 7:] = 0
        yield ids


def main(cfg: Config):
    fabric = Fabric(accelerator="cpu", strategy="ddp", devices=int(os.environ["LOCAL_WORLD_SIZE"]))
    fabric.launch()
    fabric.seed_everything(3)

    model = CharModel(cfg)
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=2e-3))
    accumulation = TokenAccumulation(fabric, model, optimizer, cfg.target_tokens)
    total = torch.zeros(())

    for i, ids in enumerate(packed_blocks(cfg, fabric.global_rank)):
        tokens = int((ids > 0).sum())
        with accumulation.micro_batch(tokens):
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
            fabric.backward(loss * tokens / cfg.target_tokens)
        total += loss.detach()
        time.sleep(0.02)
        if (i + 1) % cfg.log_every == 0:
            mean = fabric.all_reduce(total / cfg.log_every, reduce_op="mean")
            fabric.print(f"micro-batch {i + 1} updates {accumulation.updates} loss {mean.item():.3f}")
            total.zero_()

    fabric.barrier()
    fabric.print("trained")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--target-tokens", type=int, default=Config.target_tokens)
    main(Config(target_tokens=parser.parse_args().target_tokens))
