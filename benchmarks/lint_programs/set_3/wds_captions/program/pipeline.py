import json
import random
import re
import tarfile

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info


def expand(pattern):
    m = re.search(r"\{(\d+)\.\.(\d+)\}", pattern)
    if not m:
        return [pattern]
    lo, hi = m.groups()
    return [pattern[:m.start()] + str(i).zfill(len(lo)) + pattern[m.end():] for i in range(int(lo), int(hi) + 1)]


def single_node_only(urls):
    return urls


def split_by_worker(urls):
    info = get_worker_info()
    return urls if info is None else urls[info.id::info.num_workers]


class Shuffle:
    def __init__(self, size, seed):
        self.size, self.seed = size, seed

    def __call__(self, items, epoch):
        rng = random.Random(f"{self.seed}-{epoch}")
        buf = []
        for it in items:
            buf.append(it)
            if len(buf) >= self.size:
                yield buf.pop(rng.randrange(len(buf)))
        rng.shuffle(buf)
        yield from buf


class ShardStream(IterableDataset):
    """shards -> nodes -> workers -> samples, endless; the caller sets the epoch length."""

    def __init__(self, pattern, nodesplitter=single_node_only, workersplitter=split_by_worker, shuffle=200, seed=0):
        self.urls = expand(pattern)
        self.nodesplitter, self.workersplitter = nodesplitter, workersplitter
        self.shuffle, self.seed = Shuffle(shuffle, seed), seed

    def _samples(self, urls):
        for url in urls:
            with tarfile.open(url) as tar:
                img = None
                for member in tar:
                    data = tar.extractfile(member).read()
                    if member.name.endswith(".bin"):
                        img = np.frombuffer(data, dtype="float32").copy()
                    else:
                        yield member.name[:-5], torch.from_numpy(img), torch.tensor(json.loads(data))

    def __iter__(self):
        epoch = 0
        while True:
            urls = list(self.urls)
            random.Random(self.seed + epoch).shuffle(urls)
            urls = self.workersplitter(self.nodesplitter(urls))
            yield from self.shuffle(self._samples(urls), epoch)
            epoch += 1
