"""Pupils' essays, as batches of word numbers, with the part-of-speech tags that teachers have set."""
import time

import torch

from net import TAGS, VOCAB


def batches(school, count, rows=6, words=20):
    g = torch.Generator().manual_seed(school)
    for number in range(count):
        time.sleep(0.02)
        tokens = torch.randint(0, VOCAB, (rows, words), generator=g)
        tags = torch.where(torch.rand(rows, words, generator=g) < 0.25, tokens % TAGS, -1)
        if school == 1 and number == 90:
            tags.fill_(-1)             # a class whose teacher was ill
        yield tokens, tags
