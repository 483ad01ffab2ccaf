import random
import re

import torch
from torch.utils.data import IterableDataset, get_worker_info

from util import misc


def expand(pattern):
    """'train-{000..012}' -> ['train-000', ..., 'train-012']"""
    m = re.search(r"\{(\d+)\.\.(\d+)\}", pattern)
    if m is None:
        return [pattern]
    lo, hi = m.group(1), m.group(2)
    return [
        pattern[: m.start()] + str(i).zfill(len(lo)) + pattern[m.end():]
        for i in range(int(lo), int(hi) + 1)
    ]


def split_by_node(urls):
    return urls[misc.get_rank()::misc.get_world_size()]


def split_by_worker(urls):
    info = get_worker_info()
    if info is None:
        return urls
    return urls[info.id::info.num_workers]


def open_shard(url, n, img_size):
    # stands in for reading a tar: every shard holds the same number of images
    g = torch.Generator().manual_seed(int(re.search(r"(\d+)$", url).group(1)))
    freq = torch.rand(n, 2, generator=g) * 6
    r = torch.linspace(0, 3.14, img_size)
    for fx, fy in freq:
        wave = torch.sin(fx * r)[None, :] * torch.cos(fy * r)[:, None]
        yield wave.expand(3, img_size, img_size).clone()


class ShardDataset(IterableDataset):
    def __init__(self, pattern, samples_per_shard=32, img_size=32, shuffle_buffer=64, seed=0):
        self.urls = expand(pattern)
        self.samples_per_shard = samples_per_shard
        self.img_size = img_size
        self.shuffle_buffer = shuffle_buffer
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _samples(self):
        urls = list(self.urls)
        random.Random(self.seed + self.epoch).shuffle(urls)
        urls = split_by_node(urls)
        urls = split_by_worker(urls)
        for url in urls:
            yield from open_shard(url, self.samples_per_shard, self.img_size)

    def __iter__(self):
        rng = random.Random(self.seed + 1000 * misc.get_rank() + self.epoch)
        buf = []
        for sample in self._samples():
            if len(buf) < self.shuffle_buffer:
                buf.append(sample)
                continue
            j = rng.randrange(len(buf))
            buf[j], sample = sample, buf[j]
            yield sample
        rng.shuffle(buf)
        yield from buf
