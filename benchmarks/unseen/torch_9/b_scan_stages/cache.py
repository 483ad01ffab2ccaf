import fcntl
import os
import time

import torch


def _compute_table(entries, seconds):
    until = time.monotonic() + seconds
    table = torch.zeros(entries)
    row = 0
    while time.monotonic() < until:
        table[row % entries] = (row % 17) / 17
        row += 1
        time.sleep(0.002)
    return table


def attenuation_table(folder, entries=64, seconds=6.0):
    """The first rank that comes computes the table, the others wait for the lock and load it."""
    path = os.path.join(folder, "attenuation.pt")
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if not os.path.exists(path):
                torch.save(_compute_table(entries, seconds), path)
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
    return torch.load(path)
