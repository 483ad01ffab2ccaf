"""Next-token training on packed reports with a token budget per update."""
import argparse
import contextlib
import time
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

VOCAB = 64


@dataclass
class Budget:
    """Counts tokens until an update is due."""

    limit: int
    used: int = 0
    updates: int = field(default=0, init=False)

    def absorb(self, tokens):
        self.used += tokens.numel()
        if self.used < self.limit:
            return False
        self.used = 0
        self.updates += 1
        return True


class TinyLM(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def reports(rank, count):
    g = torch.Generator().manual_seed(40 + rank)
    for i in range(count):
        length = 32 if rank != 1 or i < 40 else 24
        yield torch.randint(0, VOCAB, (4, length), generator=g)


def make_step(model, optimizer, budget):
    def step(ids):
        due = budget.absorb(ids)
        with contextlib.nullcontext() if due else model.no_sync():
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
        if due:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return step


def gathered_mean(value):
    parts = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, value)
    return torch.stack(parts).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--reports", type=int, default=120)
    ap.add_argument("--tokens-per-update", type=int, default=512)
    ap.add_argument("--log-every", type=int, default=20)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DDP(TinyLM())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    budget = Budget(args.tokens_per_update)
    step = make_step(model, optimizer, budget)
    for number, ids in enumerate(reports(rank, args.reports), start=1):
        loss = step(ids)
        time.sleep(0.02)
        if number % args.log_every == 0:
            mean = gathered_mean(loss)
            if rank == 0:
                print(f"{number} reports, {budget.updates} updates, loss {mean:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
