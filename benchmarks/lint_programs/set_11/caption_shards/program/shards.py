import random

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

import dist_env

WORDS = 40


def read_shard(index, size):
    """Stands for a tar of (image feature, caption) pairs."""
    gen = torch.Generator().manual_seed(4000 + index)
    for _ in range(size):
        caption = torch.randint(1, WORDS, (6,), generator=gen)
        image = torch.zeros(WORDS).index_add_(0, caption, torch.ones(6))
        yield image + 0.1 * torch.randn(WORDS, generator=gen), caption


class CaptionShards(IterableDataset):
    def __init__(self, shards, shard_size, seed):
        super().__init__()
        self.shards, self.shard_size, self.seed = shards, shard_size, seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _my_shards(self):
        order = list(range(self.shards))
        random.Random(self.seed + self.epoch).shuffle(order)
        order = order[dist_env.get_rank() :: dist_env.get_world_size()]
        info = get_worker_info()
        return order if info is None else order[info.id :: info.num_workers]

    def __iter__(self):
        for index in self._my_shards():
            yield from read_shard(index, self.shard_size)


def build_loader(cfg):
    data = CaptionShards(cfg["shards"], cfg["shard_size"], cfg["seed"])
    workers = cfg["workers"]
    # the image decoder's threads do not survive a fork
    context = "spawn" if workers else None
    loader = DataLoader(
        data, batch_size=cfg["batch_size"], num_workers=workers, multiprocessing_context=context, drop_last=True
    )
    samples = cfg["shards"] * cfg["shard_size"]
    return loader, samples // (cfg["batch_size"] * dist_env.get_world_size())
