"""Verses, one character per token."""
import time

import torch

VOCAB = 64


def batches(rank, steps, rows=4, length=40):
    noise = torch.Generator().manual_seed(1000 + rank)
    for _ in range(steps):
        time.sleep(0.05)                     # the reader of the manuscript store is no faster
        start = torch.randint(0, VOCAB, (rows, 1), generator=noise)
        yield (start + torch.arange(length) * 3) % VOCAB
