"""Character model for limericks; the MLP is split over the ranks."""
import random

import torch
from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

LETTERS = " abcdefghijklmnopqrstuvwxyz"
LINES = ["there was a young lady of riga", "who smiled as she rode on a tiger",
         "they returned from the ride", "with the lady inside", "and the smile on the face of the tiger"]


class Body(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Verse(nn.Module):
    def __init__(self, width=24, hidden=48):
        super().__init__()
        self.table = nn.Embedding(len(LETTERS), width)
        self.cell = nn.GRU(width, width, batch_first=True)
        self.body = Body(width, hidden)
        self.out = nn.Linear(width, len(LETTERS))

    def forward(self, x):
        return self.out(self.body(self.cell(self.table(x))[0]))


def split(model, mesh):
    parallelize_module(model.body, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


def batch(rng, rows=8, length=20):
    """All ranks read the same text, they share one replica of the model."""
    text = " ".join(LINES)
    starts = [rng.randrange(len(text) - length - 1) for _ in range(rows)]
    return torch.tensor([[LETTERS.index(c) for c in text[s:s + length + 1]] for s in starts])
