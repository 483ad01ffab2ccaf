import time

import torch
from torch.utils.data import Dataset


class Chains(Dataset):
    """Protein chains of several lengths, padded with 0; the length goes with each."""

    def __init__(self, count, short):
        self.count, self.short = count, short

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.01)
        generator = torch.Generator().manual_seed(index)
        length = 14 if index == self.short else 40 + index % 24
        chain = torch.zeros(64, dtype=torch.long)
        chain[:length] = torch.randint(1, 21, (length,), generator=generator)
        return chain, length


def window(chains, lengths, size=32):
    """A random window inside every chain."""
    cut = []
    for chain, length in zip(chains, lengths.tolist()):
        start = int(torch.randint(0, length - size + 1, ()))
        cut.append(chain[start : start + size])
    return torch.stack(cut)
