"""Instruction tuning with gradient accumulation (single file, no trainer)."""
import contextlib
import math
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ACCUM = 4
MICRO_BATCHES = 48
IGNORE = -100


class Accumulator:
    """Counts micro-batches and says when the gradients are to be exchanged."""

    def __init__(self, model, every):
        self.model = model
        self.every = every
        self.pending = 0
        self.tokens = 0

    @contextlib.contextmanager
    def micro_batch(self, labels):
        supervised = int((labels != IGNORE).sum())
        # prompts that fill the whole window contribute nothing
        if supervised:
            self.pending += 1
            self.tokens += supervised
        sync = self.pending == self.every
        with contextlib.nullcontext() if sync else self.model.no_sync():
            yield sync
        if sync:
            self.pending = 0


class Student(nn.Module):
    def __init__(self, v=50, d=24):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.body = nn.Sequential(nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d))
        self.head = nn.Linear(d, v)

    def forward(self, ids):
        h = self.tok(ids)
        return self.head(h + self.body(h))


def conversation_stream(rank):
    g = torch.Generator().manual_seed(500 + rank)
    for i in range(MICRO_BATCHES):
        ids = torch.randint(0, 50, (4, 20), generator=g)
        labels = ids.clone()
        prompt = 6
        if rank == 1 and i == 21:
            prompt = 20
        labels[:, :prompt] = IGNORE
        yield ids, labels


def cosine(step, total, base):
    return base * 0.5 * (1 + math.cos(math.pi * step / total))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    ddp = DistributedDataParallel(Student())
    opt = torch.optim.AdamW(ddp.parameters(), lr=1e-3)
    ce = nn.CrossEntropyLoss(ignore_index=IGNORE, reduction="sum")
    acc = Accumulator(ddp, ACCUM)
    updates = 0

    for ids, labels in conversation_stream(rank):
        with acc.micro_batch(labels) as sync:
            logits = ddp(ids)
            loss = ce(logits.flatten(0, 1), labels.flatten()) / (ACCUM * 56)
            loss.backward()
        time.sleep(0.02)
        if sync:
            for group in opt.param_groups:
                group["lr"] = cosine(updates, MICRO_BATCHES // ACCUM, 1e-3)
            opt.step()
            opt.zero_grad()
            updates += 1
            if rank == 0 and updates % 3 == 0:
                print(f"update {updates} loss {loss.item():.4f} tokens {acc.tokens}", flush=True)

    totals = [None] * dist.get_world_size()
    dist.all_gather_object(totals, acc.tokens)
    if rank == 0:
        print("supervised tokens", sum(totals))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
