"""The ledgers of ferry lines: what was sold on each crossing, and the parts of it that the processes get."""

from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, TensorDataset

COLUMNS = 9


@dataclass(frozen=True)
class Line:
    name: str
    months: tuple[int, int]
    crossings: int

    def sails(self, month):
        first, last = self.months
        return first <= month <= last


LINES = (
    Line("Harbour", (1, 12), 16),
    Line("Castle Island", (1, 12), 12),
    Line("Lido", (5, 9), 20),
)


class Ledger:
    """Tickets of one line in some months: weather and calendar of each crossing, and what was sold."""

    def __init__(self, line, months, seed):
        self.line = line
        self.months = months
        self.law = torch.randn(COLUMNS, generator=torch.Generator().manual_seed(seed)) / COLUMNS**0.5
        self.seed = seed

    def rows(self):
        blocks = []
        for month in self.months:
            if not self.line.sails(month):
                continue
            g = torch.Generator().manual_seed(self.seed + 100 * LINES.index(self.line) + month)
            x = torch.randn(30 * self.line.crossings, COLUMNS, generator=g)
            blocks.append(torch.cat([x, (x @ self.law + 0.2 * torch.randn(len(x), generator=g)).unsqueeze(-1)], -1))
        return torch.cat(blocks) if blocks else torch.empty(0, COLUMNS + 1)

    def loader(self, batch):
        rows = self.rows()
        data = TensorDataset(rows[:, :-1], rows[:, -1])
        return DataLoader(data, batch, shuffle=len(data) > 0, drop_last=True)


def endless(loader):
    while True:
        yield from loader
