"""Descriptions of sailors' knots: a bag of words, and the use of the knot."""

import torch
from torch import nn

WORDS = 240
USES = 5


def batches(count, size, seed):
    g = torch.Generator().manual_seed(seed)
    topic = torch.randn(WORDS, USES, generator=torch.Generator().manual_seed(0))
    for _ in range(count):
        words = torch.randint(WORDS, (size, 12), generator=g)
        yield words, topic[words].sum(1).argmax(1)


class KnotModel(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.body = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.use = nn.Linear(width, USES)

    def forward(self, words):
        return self.use(self.body(self.words(words).mean(1)))
