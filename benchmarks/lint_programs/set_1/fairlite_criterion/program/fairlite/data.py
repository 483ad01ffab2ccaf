import os
import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

BOS, PAD, EOS = 0, 1, 2


def batch_by_size(pairs, max_tokens):
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    batches, cur, width = [], [], 0
    for i in order:
        w = max(width, len(pairs[i][0]), len(pairs[i][1]))
        if cur and w * (len(cur) + 1) > max_tokens:
            batches.append(cur)
            cur, w = [], max(len(pairs[i][0]), len(pairs[i][1]))
        cur.append(i)
        width = w
    if cur:
        batches.append(cur)
    return batches


def collate(pairs):
    src, tgt = zip(*pairs)
    target = pad_sequence(tgt, True, PAD)
    prev = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], 1)
    return {
        "net_input": {"src_tokens": pad_sequence(src, True, PAD), "prev_output_tokens": prev},
        "target": target,
        "ntokens": sum(len(t) for t in tgt),
    }


class EpochIterator:
    def __init__(self, data, split, max_tokens, shard, num_shards, num_workers, seed):
        self.pairs = torch.load(os.path.join(data, split + ".pt"))
        self.batches = batch_by_size(self.pairs, max_tokens)
        self.shard, self.num_shards = shard, num_shards
        self.num_workers, self.seed = num_workers, seed

    def next_epoch_itr(self, epoch, group=1):
        """Shuffled batches of this shard, in lists of `group`; the same count on every shard."""
        batches = list(self.batches)
        random.Random(self.seed * 7919 + epoch).shuffle(batches)
        per_step = self.num_shards * group
        batches = batches[: len(batches) // per_step * per_step]
        chunk = []
        for sample in self._load(batches[self.shard::self.num_shards]):
            chunk.append(sample)
            if len(chunk) == group:
                yield chunk
                chunk = []

    def valid_itr(self):
        return self._load(self.batches[self.shard::self.num_shards])

    def _load(self, batches):
        return DataLoader(self.pairs, batch_sampler=batches, collate_fn=collate,
                          num_workers=self.num_workers)
