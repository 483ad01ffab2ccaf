import glob
import gzip
import itertools
import json
import random
import zlib

import torch
from torch.utils.data import IterableDataset, get_worker_info


class ShardStream(IterableDataset):
    """Endless stream over *.jsonl.gz shards; every pass goes over the shards in a new order."""

    def __init__(self, pattern, rank, world_size, seed=0, buffer=2000, vocab=50000, max_len=200):
        self.shards = sorted(glob.glob(pattern))
        self.rank, self.world_size = rank, world_size
        self.seed = seed
        self.buffer = buffer
        self.vocab, self.max_len = vocab, max_len

    def encode(self, text):
        ids = [1 + zlib.crc32(t.encode()) % (self.vocab - 1) for t in text.lower().split()[:self.max_len]]
        return torch.tensor(ids or [1])

    def records(self, path):
        with gzip.open(path, "rt") as f:
            for line in f:
                yield json.loads(line)

    def passes(self):
        info = get_worker_info()
        workers, wid = (info.num_workers, info.id) if info else (1, 0)
        slot = self.rank * workers + wid
        for n in itertools.count():
            shards = list(self.shards)
            random.shuffle(shards)
            for path in shards[slot::self.world_size * workers]:
                yield from self.records(path)

    def __iter__(self):
        pool = []
        for rec in self.passes():
            pool.append(rec)
            if len(pool) < self.buffer:
                continue
            j = random.randrange(len(pool))
            pool[j], pool[-1] = pool[-1], pool[j]
            rec = pool.pop()
            yield self.encode(rec["text"]), float(rec["toxic"])
