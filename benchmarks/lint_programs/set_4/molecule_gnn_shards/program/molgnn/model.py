import torch
from torch import nn


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.msg = nn.Linear(dim, dim)
        self.upd = nn.GRUCell(dim, dim)

    def forward(self, h, adj):
        b, n, d = h.shape
        m = adj @ self.msg(h)
        return self.upd(m.reshape(b * n, d), h.reshape(b * n, d)).view(b, n, d)


class EnergyNet(nn.Module):
    def __init__(self, in_dim=4, dim=32, rounds=3):
        super().__init__()
        self.inp = nn.Linear(in_dim, dim)
        self.rounds = nn.ModuleList(MessagePassing(dim) for _ in range(rounds))
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, x, adj, mask):
        h = torch.relu(self.inp(x))
        for layer in self.rounds:
            h = layer(h, adj)
        return (self.out(h).squeeze(-1) * mask).sum(1)
