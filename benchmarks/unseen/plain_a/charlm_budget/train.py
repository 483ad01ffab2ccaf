#!/usr/bin/env python
"""Character LM on mixed corpora; optimizer steps are taken per token budget, not per batch."""
import argparse
import contextlib
import math
import random

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

PAD = 0


class CharLM(nn.Module):
    def __init__(self, vocab=64, dim=32, heads=2, max_len=48):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.pos = nn.Parameter(torch.zeros(max_len, dim))
        self.block = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        n = ids.size(1)
        mask = torch.full((n, n), float("-inf")).triu(1)
        h = self.tok(ids) + self.pos[:n]
        return self.head(self.block(h, src_mask=mask))


class Corpus:
    """Yields padded micro-batches of one shard: prose chapters first, then dialogue."""

    def __init__(self, shard, micro_batches, batch):
        self.rng = random.Random(1000 + shard)
        # average line length of the dialogue part of each shard
        self.lengths = {"prose": 32, "dialogue": 20 if shard == 1 else 32}
        self.micro_batches, self.batch = micro_batches, batch

    def __iter__(self):
        for i in range(self.micro_batches):
            kind = "prose" if i < self.micro_batches // 2 else "dialogue"
            n = self.lengths[kind]
            rows = [[self.rng.randrange(1, 64) for _ in range(n)] for _ in range(self.batch)]
            yield torch.tensor(rows)


class Accumulator:
    """Counts target tokens and says when enough of them have been seen for a step."""

    def __init__(self, budget):
        self.budget, self.seen = budget, 0

    def full(self, tokens):
        self.seen += tokens
        if self.seen < self.budget:
            return False
        self.seen = 0
        return True


def train_epoch(model, corpus, opt, acc, log):
    crit = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")
    nll, count, updates = 0.0, 0, 0
    for i, ids in enumerate(corpus):
        n_tok = int((ids[:, 1:] != PAD).sum())
        step_now = acc.full(n_tok)
        with contextlib.nullcontext() if step_now else model.no_sync():
            logits = model(ids[:, :-1])
            loss = crit(logits.flatten(0, 1), ids[:, 1:].flatten())
            (loss / acc.budget).backward()
        nll, count = nll + loss.item(), count + n_tok
        if step_now:
            opt.step()
            opt.zero_grad()
            updates += 1
            log(f"micro {i} update {updates} ppl {math.exp(nll / count):.1f}")
    return nll, count


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--micro-batches", type=int, default=48)
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--tokens-per-step", type=int, default=480)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    log = (lambda m: print(m, flush=True)) if rank == 0 else (lambda m: None)
    torch.manual_seed(0)
    model = DDP(CharLM())
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        corpus = Corpus(rank, args.micro_batches, args.batch)
        nll, count = train_epoch(model, corpus, opt, Accumulator(args.tokens_per_step), log)
        mine = torch.tensor([nll, float(count)])
        parts = [torch.zeros(2) for _ in range(world)]
        dist.all_gather(parts, mine)
        total = torch.stack(parts).sum(0)
        log(f"epoch {epoch} corpus ppl {math.exp(total[0] / total[1]):.2f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
