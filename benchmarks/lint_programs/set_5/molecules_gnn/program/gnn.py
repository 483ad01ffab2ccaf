import torch
from torch import nn


class Message(nn.Module):
    def __init__(self, dim, rbf):
        super().__init__()
        self.filter = nn.Sequential(nn.Linear(rbf, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.update = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Dropout(0.1), nn.Linear(dim, dim))

    def forward(self, h, edge, mask):
        w = self.filter(edge) * mask[..., None]
        return h + self.update(torch.einsum("bijd,bjd->bid", w, h))


class EnergyNet(nn.Module):
    def __init__(self, dim=64, layers=3, rbf=16, cutoff=5.0):
        super().__init__()
        self.embed = nn.Embedding(20, dim, padding_idx=0)
        self.register_buffer("centers", torch.linspace(0, cutoff, rbf))
        self.cutoff = cutoff
        self.layers = nn.ModuleList([Message(dim, rbf) for _ in range(layers)])
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, z, pos):
        real = z > 0
        d = (pos[:, :, None] - pos[:, None]).norm(dim=-1)
        mask = real[:, :, None] & real[:, None] & (d > 1e-6) & (d < self.cutoff)
        edge = torch.exp(-4.0 * (d[..., None] - self.centers) ** 2)
        h = self.embed(z)
        for layer in self.layers:
            h = layer(h, edge, mask)
        return (self.out(h).squeeze(-1) * real).sum(1)
