"""Nights of moth traps, read through torchdata's nodes."""

import time

import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, ParallelMapper, Prefetcher

WINGS = 20


class Traps:
    """Records of the traps of one process, without those that were blown over."""

    def __init__(self, rank, records, seed):
        self.rank, self.records, self.seed = rank, records, seed

    def __iter__(self):
        for i in range(self.records):
            if (i + self.rank) % (9 + 4 * self.rank) == 0:
                continue
            yield i


class Reader:
    """Reads one record; the card of the second process' trap is worn and takes some tries."""

    def __init__(self, rank, seed):
        self.rank, self.seed = rank, seed
        self.form = torch.randn(WINGS, generator=torch.Generator().manual_seed(0)) / WINGS**0.5

    def attempt(self, i, number):
        if self.rank == 1 and i == 300 and number < 3:
            raise OSError(f"record {i}: checksum")
        g = torch.Generator().manual_seed((self.seed * 10 + self.rank) * 10_000 + i)
        wings = torch.randn(WINGS, generator=g)
        return wings, (wings @ self.form > 0).float()

    def __call__(self, i):
        for number in range(6):
            try:
                return self.attempt(i, number)
            except OSError:
                time.sleep(0.5 * 2**number)
        raise OSError(f"record {i} is lost")


def collate(rows):
    wings, species = zip(*rows)
    return torch.stack(wings), torch.stack(species)


def nights(rank, records, batch, seed):
    node = IterableWrapper(Traps(rank, records, seed))
    node = ParallelMapper(node, Reader(rank, seed), num_workers=2, method="thread")
    node = Batcher(node, batch, drop_last=True)
    node = Mapper(node, collate)
    return Loader(Prefetcher(node, prefetch_factor=4))


def full_batches(rank, records, batch, seed):
    """How many batches `nights` has, without reading them."""
    return sum(1 for _ in Traps(rank, records, seed)) // batch
