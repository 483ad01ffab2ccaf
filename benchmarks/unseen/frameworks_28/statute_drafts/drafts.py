"""Drafts as word numbers. Synthetic: a clause is a ramp with a random beginning, plus a few slips."""
import time

import torch

WORDS = 96


def batches(rank, steps, size=4, length=20):
    generator = torch.Generator().manual_seed(50 + rank)
    for _ in range(steps):
        time.sleep(0.04)                   # the register answers one query at a time
        first = torch.randint(0, WORDS, (size, 1), generator=generator)
        clause = (first + torch.arange(length)) % WORDS
        slips = torch.rand(size, length, generator=generator) < 0.05
        yield torch.where(slips, torch.randint(0, WORDS, (size, length), generator=generator), clause)
