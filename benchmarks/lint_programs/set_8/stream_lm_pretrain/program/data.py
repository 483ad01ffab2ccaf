import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from dist_utils import get_rank, get_world_size


def read_shard(shard, cfg):
    """Documents of one shard (token ids, random length)."""
    g = torch.Generator().manual_seed(cfg.seed * 1_000_003 + shard)
    for _ in range(cfg.docs_per_shard):
        n = int(torch.randint(20, 60, (1,), generator=g))
        start, stride = torch.randint(1, cfg.vocab, (2,), generator=g).tolist()
        yield (start + (1 + stride % 4) * torch.arange(n)) % (cfg.vocab - 1) + 1


class PackedShards(IterableDataset):
    """Packs documents into fixed blocks; a block never spans two shards.

    Shards go round-robin to the readers of all processes, and every shard gives
    `blocks_per_shard` blocks.
    """

    def __init__(self, cfg):
        self.cfg = cfg
        self.epoch = 0

    def my_shards(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        reader = get_rank() * workers + worker
        readers = get_world_size() * workers
        g = torch.Generator().manual_seed(self.cfg.seed + self.epoch)
        order = torch.randperm(self.cfg.shards, generator=g).tolist()
        return order[reader::readers]

    def __iter__(self):
        size = self.cfg.block + 1
        for shard in self.my_shards():
            buf, made = [], 0
            for doc in read_shard(shard, self.cfg):
                buf.extend(doc.tolist() + [0])
                while len(buf) >= size and made < self.cfg.blocks_per_shard:
                    yield torch.tensor(buf[:size])
                    buf, made = buf[size - 1:], made + 1


def build_loader(cfg):
    # the tokenizers' thread pool does not survive a fork
    return DataLoader(PackedShards(cfg), cfg.batch_size, num_workers=cfg.workers,
                      multiprocessing_context="spawn" if cfg.workers else None, drop_last=True)
