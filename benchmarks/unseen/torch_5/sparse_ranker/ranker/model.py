import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self, users=300, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.hidden = nn.Linear(dim, 40)
        self.score = nn.Linear(40, 1)

    def forward(self, ids):
        return self.score(torch.relu(self.hidden(self.user(ids)))).squeeze(-1)


def traffic(rank, steps, usual=12, size=80):
    """A few regulars make most of the traffic; campaigns bring new users."""
    gen = torch.Generator().manual_seed(900 + rank)
    campaign = range(24, 40) if rank == 1 else ()
    for step in range(steps):
        pool = 300 if step in campaign else usual
        ids = torch.randint(0, pool, (size,), generator=gen)
        yield ids, (ids % 2).float()
