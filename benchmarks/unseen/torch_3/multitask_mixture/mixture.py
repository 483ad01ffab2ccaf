"""Temperature-weighted mixing of several QA corpora, with a bounded number of repeats."""
import itertools
import random
from collections import namedtuple

import torch

Item = namedtuple("Item", "source tokens answer")
CORPORA = {"squad": 900, "boolq": 400, "tables": 115}


def corpus(name, size, seed, vocab=200):
    gen = torch.Generator().manual_seed(seed + len(name))
    for _ in range(size):
        tokens = torch.randint(1, vocab, (20,), generator=gen)
        answer = int(tokens[0]) % 20 if name != "boolq" else int(tokens[0]) % 2
        yield Item(name, tokens, answer)


class Mixture:
    """Draws every batch from all corpora that still have rows on this rank."""

    def __init__(self, rank, world, batch_size, quota=(4, 2, 2)):
        self.quota = dict(zip(CORPORA, quota))
        self.batch_size = batch_size
        self.rng = random.Random(rank)
        self.streams = {}
        for name, size in CORPORA.items():
            rows = [i for i in range(size) if self._owner(name, i, world) == rank]
            self.streams[name] = corpus(name, len(rows), seed=17 * rank)

    @staticmethod
    def _owner(name, index, world):
        # tables come in documents of 23 rows that stay together
        return index // 23 % world if name == "tables" else index % world

    def batch(self):
        items = []
        for name, share in self.quota.items():
            items += itertools.islice(self.streams[name], share)
        while len(items) < self.batch_size:
            items.append(next(self.streams["squad"]))
        self.rng.shuffle(items)
        return items
