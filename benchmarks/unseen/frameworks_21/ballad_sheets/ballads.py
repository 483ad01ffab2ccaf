"""Broadside ballads of three printers: lines as vectors, and the year of the sheet."""

import torch
from torch.utils.data import Dataset

WIDTH = 16


class Broadsides(Dataset):
    def __init__(self, printer, count, seed):
        self.printer, self.count, self.seed = printer, count, seed
        self.style = torch.randn(WIDTH, generator=torch.Generator().manual_seed(0)) / WIDTH**0.5

    def __len__(self):
        return self.count

    def lines(self, i, g):
        # one of the printers has a long murder ballad among his sheets
        if self.printer == 2 and i == 1003:
            return 70
        return int(torch.randint(20, 30, (), generator=g))

    def __getitem__(self, i):
        g = torch.Generator().manual_seed((self.seed * 10 + self.printer) * 10_000 + i)
        verses = torch.randn(self.lines(i, g), WIDTH, generator=g)
        return verses, verses.mean(0) @ self.style + 0.05 * torch.randn((), generator=g)
