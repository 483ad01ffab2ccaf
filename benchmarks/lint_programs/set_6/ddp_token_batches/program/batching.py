import random

import torch
from torch.utils.data import Sampler

PAD = 0


class TokenBatchSampler(Sampler):
    """Batches of similar-length sentences holding at most `max_tokens` padded tokens."""

    def __init__(self, lengths, max_tokens, rank=0, world_size=1, shuffle=True, seed=0, pool=512):
        self.lengths = lengths
        self.max_tokens = max_tokens
        self.rank, self.world_size = rank, world_size
        self.shuffle, self.seed, self.pool = shuffle, seed, pool
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _pack(self, indices):
        batches = []
        for start in range(0, len(indices), self.pool):
            chunk = sorted(indices[start : start + self.pool], key=lambda i: self.lengths[i])
            batch, longest = [], 0
            for i in chunk:
                longest_with = max(longest, self.lengths[i])
                if batch and longest_with * (len(batch) + 1) > self.max_tokens:
                    batches.append(batch)
                    batch, longest_with = [], self.lengths[i]
                batch.append(i)
                longest = longest_with
            batches.append(batch)
        return batches

    def __iter__(self):
        rng = random.Random(self.seed + self.epoch)
        indices = list(range(len(self.lengths)))
        if self.shuffle:
            rng.shuffle(indices)
        usable = len(indices) - len(indices) % self.world_size
        batches = self._pack(indices[self.rank : usable : self.world_size])
        if self.shuffle:
            rng.shuffle(batches)
        return iter(batches)


def collate(pairs):
    def pad(seqs):
        return torch.nn.utils.rnn.pad_sequence(seqs, batch_first=True, padding_value=PAD)

    src, tgt = zip(*pairs)
    return pad(src), pad(tgt)
