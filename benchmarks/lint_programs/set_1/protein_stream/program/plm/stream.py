import glob
import gzip
import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from plm.alphabet import CLS, EOS, MASK, PAD, TOKENS, encode


class ShardStream(IterableDataset):
    """Endless stream of sequences; shards are dealt out once and then revisited in random order."""

    def __init__(self, pattern, max_len, buffer, seed, rank, world_size):
        self.shards = sorted(glob.glob(pattern))
        if not self.shards:
            raise FileNotFoundError(pattern)
        if len(self.shards) < world_size:
            raise ValueError(f"{len(self.shards)} shards for {world_size} processes")
        self.max_len = max_len
        self.buffer = buffer
        self.seed = seed
        self.rank = rank
        self.world_size = world_size

    def _my_shards(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        mine = self.shards[worker::workers]
        assert mine, f"no shard for worker {worker} of process {self.rank}"
        return mine, random.Random(self.seed * 100003 + worker)

    def _lines(self, shards, rng):
        while True:
            rng.shuffle(shards)
            for path in shards:
                with gzip.open(path, "rt") as f:
                    for line in f:
                        seq = line.strip()
                        if len(seq) >= 30:
                            yield seq

    def __iter__(self):
        shards, rng = self._my_shards()
        pool = []
        for seq in self._lines(shards, rng):
            if len(pool) < self.buffer:
                pool.append(seq)
                continue
            j = rng.randrange(self.buffer)
            seq, pool[j] = pool[j], seq
            yield encode(seq, self.max_len)


class MaskCollator:
    def __init__(self, prob):
        self.prob = prob

    def __call__(self, seqs):
        tokens = pad_sequence(seqs, batch_first=True, padding_value=PAD)
        special = (tokens == PAD) | (tokens == CLS) | (tokens == EOS)
        chosen = (torch.rand(tokens.shape) < self.prob) & ~special
        labels = tokens.masked_fill(~chosen, -100)
        dice = torch.rand(tokens.shape)
        noise = torch.randint(4, len(TOKENS), tokens.shape)
        tokens = torch.where(chosen & (dice < 0.8), torch.full_like(tokens, MASK), tokens)
        tokens = torch.where(chosen & (dice > 0.9), noise, tokens)
        return tokens, labels


def build_loader(cfg, rank, world_size):
    stream = ShardStream(cfg.data.shards, cfg.data.max_len, cfg.data.buffer, cfg.train.seed,
                         rank, world_size)
    return DataLoader(stream, batch_size=cfg.train.batch, num_workers=cfg.data.workers,
                      collate_fn=MaskCollator(cfg.data.mask_prob), pin_memory=True)
