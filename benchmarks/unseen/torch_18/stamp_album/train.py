"""Which stamp is it? Embeddings of worn copies are drawn to those of clean references."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from bank import MemoryBank


class Album:
    """The stamps of one collector, read in the order of the pages."""

    def __init__(self, stamps, features, overprints_from, seed):
        g = torch.Generator().manual_seed(seed)
        self.clean = torch.randn(stamps, features, generator=g)
        self.overprint = 6.0 * torch.randn(stamps, features, generator=g)
        self.overprints_from = overprints_from
        self.g = g

    def page(self, number, size):
        index = torch.randint(0, len(self.clean), (size,), generator=self.g)
        copies = self.clean[index] + 0.2 * torch.randn(size, self.clean.shape[1], generator=self.g)
        if number >= self.overprints_from:
            copies = copies + self.overprint[index]
        return copies, index


class Encoder(nn.Module):
    def __init__(self, features, width, out):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, out))

    def forward(self, x):
        return nn.functional.normalize(self.layers(x), dim=1)


class ContrastiveTrainer:
    def __init__(self, args, album):
        torch.manual_seed(0)
        self.args = args
        self.album = album
        self.encoder = DDP(Encoder(album.clean.shape[1], args.width, args.out))
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=args.lr)
        self.bank = MemoryBank(album.clean, floor=args.recall_floor, every=args.refresh_every)

    def step(self, number):
        if self.bank.due(number) or self.bank.is_stale():
            self.bank.refresh(self.encoder.module)
        copies, index = self.album.page(number, self.args.batch)
        target = self.bank.positions(index)
        similarity = self.encoder(copies) @ self.bank.entries.T
        self.bank.observe(similarity, target)
        loss = nn.functional.cross_entropy(similarity / self.args.temperature, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self):
        started = time.monotonic()
        for number in range(self.args.steps):
            loss = self.step(number)
            if number % 200 == 0 and dist.get_rank() == 0:
                rate = (number + 1) / (time.monotonic() - started)
                print(f"page {number}: loss {loss:.3f}, recall {self.bank.recall:.2f}, {rate:.0f}/s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--out", type=int, default=24)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--recall-floor", type=float, default=0.75)
    parser.add_argument("--refresh-every", type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    # the second collector keeps the overprinted issues together, on the later pages
    first_overprint = 530 if rank == 1 else args.steps
    ContrastiveTrainer(args, Album(60, 40, first_overprint, seed=rank)).fit()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
