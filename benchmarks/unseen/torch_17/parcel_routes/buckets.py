"""Batches of stops of similar length, so that little padding is needed."""
import random

from torch.utils.data import Sampler


def bucket_of(length, bounds):
    for index, bound in enumerate(bounds):
        if length <= bound:
            return index
    return len(bounds)


class BucketBatchSampler(Sampler):
    """Every process takes each `world`-th route, sorts its routes into buckets, and makes full batches of them.

    Batches that are not full would disturb the running statistics, so the rest of a bucket is left for another epoch.
    """

    def __init__(self, lengths, batch, bounds, rank, world, seed=0):
        self.lengths = lengths
        self.batch = batch
        self.bounds = bounds
        self.rank, self.world = rank, world
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def own(self):
        even = len(self.lengths) // self.world * self.world
        return list(range(self.rank, even, self.world))

    def batches(self):
        rng = random.Random(self.seed * 1000 + self.epoch)
        routes = self.own()
        rng.shuffle(routes)
        buckets = [[] for _ in range(len(self.bounds) + 1)]
        full = []
        for route in routes:
            bucket = buckets[bucket_of(self.lengths[route], self.bounds)]
            bucket.append(route)
            if len(bucket) == self.batch:
                full.append(list(bucket))
                bucket.clear()
        rng.shuffle(full)
        return full

    def __iter__(self):
        return iter(self.batches())

    def __len__(self):
        return len(self.batches())
