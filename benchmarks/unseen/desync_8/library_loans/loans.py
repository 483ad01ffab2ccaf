"""Loans of a library: what is known when a book is lent, and how many days late it came back."""

import time

import torch
from torch.utils.data import Dataset

FEATURES = 9


class Loans(Dataset):
    """All loans of the house in the order of their return."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def days_late(self, loan, draw):
        if loan == 3619:
            return 31_412  # found in an attic
        return int(40 * draw**3)

    def __getitem__(self, loan):
        time.sleep(0.004 + 0.003 * torch.rand(1).item())
        generator = torch.Generator().manual_seed(loan)
        draw = torch.rand(1, generator=generator).item()
        known = torch.randn(FEATURES, generator=generator)
        late = self.days_late(loan, draw)
        known[0] += 2 * draw
        return known, torch.tensor(float(late > 7)), late
