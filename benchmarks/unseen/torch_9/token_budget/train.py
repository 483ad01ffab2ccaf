"""Next-token model over text shards of a legal archive. One shard for each rank, read front to back."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from accumulate import PAD, TokenBudget

# (kind of document, tokens of a document, batches) in the order in which the archive was written
CONTRACTS = ("contract", 64)
TICKETS = ("ticket", 36)
SHARDS = {
    0: [(CONTRACTS, 240)],
    1: [(CONTRACTS, 240)],
    2: [(CONTRACTS, 240)],
    3: [(CONTRACTS, 120), (TICKETS, 120)],
}


class Archive:
    def __init__(self, shard, vocab, window=65, batch=8):
        self.parts = SHARDS[shard]
        self.vocab = vocab
        self.window = window
        self.batch = batch
        self.seed = 100 + shard

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        for (_, length), batches in self.parts:
            for _ in range(batches):
                ids = torch.full((self.batch, self.window), PAD)
                start = torch.randint(1, self.vocab, (self.batch, 1), generator=g)
                walk = torch.randint(1, 4, (self.batch, length), generator=g).cumsum(1)
                ids[:, : length + 1] = torch.cat([start, (start + walk) % (self.vocab - 1) + 1], dim=1)
                yield ids

    def __len__(self):
        return sum(batches for _, batches in self.parts)


class Tagger(nn.Module):
    def __init__(self, vocab, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        hidden, _ = self.rnn(self.embed(ids))
        return self.out(hidden)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=int, default=96)
    parser.add_argument("--budget", type=int, default=2048)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(Tagger(args.vocab))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    accumulation = TokenBudget(model, optimizer, args.budget)
    archive = Archive(rank, args.vocab)

    for epoch in range(args.epochs):
        total = 0.0
        for i, ids in enumerate(archive):
            total += float(accumulation.feed(ids))
            time.sleep(0.025)
            if rank == 0 and i % 40 == 0:
                print(f"epoch {epoch} batch {i} updates {accumulation.updates}", flush=True)
        report = [None] * world
        dist.all_gather_object(report, (rank, total / len(archive)))
        if rank == 0:
            print(f"epoch {epoch} " + ", ".join(f"shard {r}: {v:.3f}" for r, v in report), flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
