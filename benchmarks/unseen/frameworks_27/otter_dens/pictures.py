"""Night pictures of dens."""
import time

import torch


def night_pictures(rank, number, count):
    noise = torch.Generator().manual_seed(100 * number + rank)
    for _ in range(count):
        time.sleep(0.05)
        otters = torch.randint(0, 4, (8,), generator=noise).float()
        yield torch.rand(8, 1, 16, 16, generator=noise) + otters.view(-1, 1, 1, 1) * 0.2, otters


def held_out(count):
    for batch in night_pictures(99, 99, count):
        time.sleep(0.15)                # full resolution, from the slow disk
        yield batch
