import torch
from torch import nn

from baskets import DIM, ITEMS


class Tower(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.a = nn.Linear(inputs, width)
        self.b = nn.Linear(width, width)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Offer(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.basket = Tower(ITEMS, width)
        self.photo = Tower(DIM, width)
        self.top = Tower(width, width)
        self.out = nn.Linear(width, 1)

    def look(self, hidden, batch):
        """Add what the photos say, for the rows that have one."""
        rows = batch.shown.nonzero().flatten()
        if rows.numel() == 0:
            return hidden
        seen = self.photo(batch.photos[rows])
        return hidden.index_add(0, rows, seen)

    def forward(self, batch):
        hidden = self.look(self.basket(batch.basket), batch)
        return self.out(torch.relu(self.top(hidden))).squeeze(-1)
