"""Gradient accumulation by tokens: a step is made when enough tokens have been seen."""

import contextlib
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

BUDGET = 4 * 32


class Documents:
    def __init__(self, rank, number):
        self.rank, self.number = rank, number

    def __iter__(self):
        g = torch.Generator().manual_seed(self.rank)
        for i in range(self.number):
            # the law texts of rank 1 have one very long article
            length = 32 * 4 if self.rank == 1 and i == 320 else 32
            yield torch.randint(0, 50, (length,), generator=g)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 24)
        self.body = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 50))

    def forward(self, tokens):
        return self.body(self.embed(tokens))


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(6)
    model = DDP(Model())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    tokens_seen, steps = 0, 0
    for tokens in Documents(dist.get_rank(), 1601):
        time.sleep(0.015)
        tokens_seen += len(tokens)
        full = tokens_seen >= BUDGET
        with contextlib.nullcontext() if full else model.no_sync():
            loss = nn.functional.cross_entropy(model(tokens[:-1]), tokens[1:])
            loss.backward()
        if full:
            optimizer.step()
            optimizer.zero_grad()
            tokens_seen, steps = 0, steps + 1
    print(f"rank {dist.get_rank()}: {steps} steps", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
