import torch
from torch import nn

from graphs import ATOMS


class GraphEncoder(nn.Module):
    def __init__(self, dim=32, layers=3):
        super().__init__()
        self.embed = nn.Embedding(ATOMS + 1, dim)
        self.self_maps = nn.ModuleList(nn.Linear(dim, dim) for _ in range(layers))
        self.neighbour_maps = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(layers))

    def forward(self, kind, adj):
        h = self.embed(kind)
        norm = adj.sum(-1, keepdim=True).clamp(min=1)
        for own, other in zip(self.self_maps, self.neighbour_maps):
            h = h + torch.relu(own(h) + other(adj @ h / norm))
        return h


class AtomPredictor(nn.Module):
    def __init__(self, encoder, dim=32):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(dim, ATOMS)

    def forward(self, kind, adj):
        return self.head(self.encoder(kind, adj))


class GraphClassifier(nn.Module):
    def __init__(self, encoder, dim=32, classes=2):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, classes))

    def forward(self, kind, adj):
        return self.head(self.encoder(kind, adj).mean(1))
