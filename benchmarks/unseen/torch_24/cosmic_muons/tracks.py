"""Tracks of muons in a stack of scintillators, as one telescope has recorded them.

All telescopes stand in the same yard and have recorded the same number of shards.
"""
import torch
from torch.utils.data import IterableDataset

PLANES = 12
NORMAL, SHOWER = 160, 2600


def night(number, size, telescope):
    """The tracks of one shard: hits in the planes and the zenith angle."""

    # the same shard has the same tracks whenever it is unpacked
    g = torch.Generator().manual_seed(5000 * telescope + number)
    angle = torch.rand(size, generator=g)
    planes = torch.arange(PLANES).float()
    hits = angle[:, None] * planes / PLANES + 0.1 * torch.randn(size, PLANES, generator=g)
    return {"hits": hits, "angle": angle}


def shard_sizes(telescope, shards):
    """Every shard has the same number of tracks, but for air showers that set off all telescopes' planes."""
    showers = {1: (9,)}.get(telescope, ())
    return [SHOWER if number in showers else NORMAL for number in range(shards)]


class TrackStream(IterableDataset):
    """Batches from the shards in their order, the same number of them from every shard."""

    def __init__(self, cache, batch, per_shard):
        self.cache = cache
        self.batch = batch
        self.per_shard = per_shard

    def __iter__(self):
        # one worker reads all shards: they are in the order of time, and the telescope drifts
        for number in range(len(self.cache.sizes)):
            tracks = self.cache.load(number)
            for index in range(self.per_shard):
                rows = slice(index * self.batch, (index + 1) * self.batch)
                yield tracks["hits"][rows], tracks["angle"][rows]
