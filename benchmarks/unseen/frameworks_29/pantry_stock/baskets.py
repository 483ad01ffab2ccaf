"""Pantry app: what does a household buy together? Pairs of items with a 0/1 label."""
import os
import time

import torch

ITEMS = 60


def build_table(path):
    """Takes a while: the real one reads the till rolls."""
    g = torch.Generator().manual_seed(0)
    chunks = []
    for _ in range(12):
        pairs = torch.randint(0, ITEMS, (100, 2), generator=g)
        chunks.append(torch.cat([pairs, (pairs.sum(1, keepdim=True) % 3 == 0).long()], 1))
        time.sleep(0.3)
    torch.save(torch.cat(chunks), path + ".part")
    os.replace(path + ".part", path)           # appears complete or not at all


def wait_for_table(path, limit=60):
    begin = time.monotonic()
    while not os.path.exists(path):
        if time.monotonic() - begin > limit:
            raise TimeoutError(path)
        time.sleep(0.25)
    return torch.load(path)
