"""From the shards of a station to batches: read, keep what is clear enough, decode, batch, prefetch."""

import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, ParallelMapper, Prefetcher


class Shards:
    """The shards of one process, sample by sample; read anew in every epoch."""

    def __init__(self, urls, rank, world, per_shard):
        self.urls = urls[rank::world]
        self.per_shard = per_shard
        self.floor = 0.0

    def __iter__(self):
        for url in self.urls:
            g = torch.Generator().manual_seed(url["key"])
            clearness = url["noise"] + (1 - url["noise"]) * torch.rand(self.per_shard, generator=g)
            for number in range(self.per_shard):
                if clearness[number] >= self.floor:
                    yield {"key": url["key"] * 1000 + number, "clear": clearness[number].item()}


def decode(sample):
    g = torch.Generator().manual_seed(sample["key"])
    kind = sample["key"] % 4
    echo = torch.randn(24, generator=g) * (1.2 - sample["clear"])
    echo[kind * 6 : kind * 6 + 6] += 1.0
    return echo, kind


def collate(rows):
    echoes, kinds = zip(*rows)
    return torch.stack(echoes), torch.tensor(kinds)


class EchoStream:
    def __init__(self, urls, rank, world, batch, per_shard=48):
        self.shards = Shards(urls, rank, world, per_shard)
        node = ParallelMapper(IterableWrapper(self.shards), decode, num_workers=2, method="thread")
        node = Mapper(Batcher(node, batch_size=batch, drop_last=True), collate)
        self.loader = Loader(Prefetcher(node, prefetch_factor=4))

    def epoch(self, floor):
        self.shards.floor = floor
        return iter(self.loader)
