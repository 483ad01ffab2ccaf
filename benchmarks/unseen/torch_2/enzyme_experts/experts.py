import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, hidden), nn.SiLU(), nn.Linear(hidden, width))

    def forward(self, x):
        return self.net(x)


class FamilyRouter(nn.Module):
    """Routes each sequence to the expert of its EC class (hash routing)."""

    def __init__(self, width=24, hidden=48, n_experts=4):
        super().__init__()
        self.experts = nn.ModuleList(Expert(width, hidden) for _ in range(n_experts))

    def forward(self, h, ec_class):
        out = torch.zeros_like(h)
        slot = ec_class % len(self.experts)
        for k, expert in enumerate(self.experts):
            rows = (slot == k).nonzero(as_tuple=True)[0]
            if rows.numel():
                out = out.index_add(0, rows, expert(h[rows]))
        return h + out


class EnzymeNet(nn.Module):
    def __init__(self, alphabet=21, width=24):
        super().__init__()
        self.residues = nn.EmbeddingBag(alphabet, width)
        self.router = FamilyRouter(width)
        self.kcat = nn.Linear(width, 1)

    def forward(self, seq, ec_class):
        return self.kcat(self.router(self.residues(seq), ec_class)).squeeze(-1)
