import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Sampler

PAD, BOS, EOS = 0, 1, 2


class ParallelText(Dataset):
    """Tensors saved by binarize.py: two lists of int tensors of equal length."""

    def __init__(self, path, max_len=200):
        src, tgt = torch.load(path)
        self.pairs = [(s, t) for s, t in zip(src, tgt) if 0 < len(s) <= max_len and 0 < len(t) <= max_len]
        self.sizes = [max(len(s), len(t)) + 1 for s, t in self.pairs]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]

    @staticmethod
    def collate(pairs):
        bos, eos = torch.tensor([BOS]), torch.tensor([EOS])
        src = pad_sequence([torch.cat([s.long(), eos]) for s, _ in pairs], batch_first=True, padding_value=PAD)
        tgt = pad_sequence([torch.cat([bos, t.long(), eos]) for _, t in pairs], batch_first=True, padding_value=PAD)
        return src, tgt


class TokenBatchSampler(Sampler):
    """Batches of similar lengths with at most `max_tokens` padded tokens, split over the ranks."""

    def __init__(self, sizes, max_tokens, rank, world_size, shuffle=True, seed=1):
        self.sizes = sizes
        self.max_tokens = max_tokens
        self.rank, self.world_size = rank, world_size
        self.shuffle, self.seed = shuffle, seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _pack(self, indices):
        batches, current, longest = [], [], 0
        for i in indices:
            longest_now = max(longest, self.sizes[i])
            if current and longest_now * (len(current) + 1) > self.max_tokens:
                batches.append(current)
                current, longest_now = [], self.sizes[i]
            current.append(i)
            longest = longest_now
        if current:
            batches.append(current)
        return batches

    def __iter__(self):
        rng = random.Random(self.seed + self.epoch)
        order = list(range(len(self.sizes)))
        if self.shuffle:
            rng.shuffle(order)
        order = order[self.rank::self.world_size]
        order.sort(key=self.sizes.__getitem__)
        batches = self._pack(order)
        if self.shuffle:
            rng.shuffle(batches)
        yield from batches
