import random

import torch
from torch.utils.data import Dataset, Sampler

PAD, BOS, EOS = 0, 1, 2


class ReverseCorpus(Dataset):
    """Source: random tokens of very different length, target: the source reversed."""

    def __init__(self, n, vocab, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            k = min(60, 3 + int(rng.expovariate(1 / 12)))
            self.rows.append([rng.randrange(3, vocab) for _ in range(k)])

    def __len__(self):
        return len(self.rows)

    def length(self, i):
        return len(self.rows[i]) + 2

    def __getitem__(self, i):
        s = self.rows[i]
        return torch.tensor(s + [EOS]), torch.tensor([BOS] + s[::-1] + [EOS])


def pad(batch):
    seq = torch.nn.utils.rnn.pad_sequence
    return tuple(seq([b[k] for b in batch], batch_first=True, padding_value=PAD) for k in (0, 1))


class TokenBatches(Sampler):
    """Batches of similar length holding at most max_tokens (padded) tokens."""

    def __init__(self, data, max_tokens, rank, world, seed):
        self.data, self.max_tokens = data, max_tokens
        self.rank, self.world, self.seed = rank, world, seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _pack(self, order):
        batches, cur, longest = [], [], 0
        for i in order:
            longest = max(longest, self.data.length(i))
            if cur and longest * (len(cur) + 1) > self.max_tokens:
                batches.append(cur)
                cur, longest = [], self.data.length(i)
            cur.append(i)
        if cur:
            batches.append(cur)
        return batches

    def __iter__(self):
        rng = random.Random(self.seed * 7919 + self.epoch)
        order = list(range(len(self.data)))
        rng.shuffle(order)
        order = order[: len(order) // self.world * self.world][self.rank::self.world]
        order.sort(key=self.data.length)
        batches = self._pack(order)
        rng.shuffle(batches)
        yield from batches
