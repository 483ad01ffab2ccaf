"""Masked-value pretraining of the backbone on one process: python backbone.py --out backbone.pt"""
import argparse

import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self, features, dim, depth):
        super().__init__()
        self.stem = nn.Linear(features, dim)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
            for _ in range(depth)
        )

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = x + layer(x)
        return x


def table(features, n, seed):
    g = torch.Generator().manual_seed(seed)
    mix = torch.randn(6, features, generator=torch.Generator().manual_seed(77))
    latent = torch.randn(n, 6, generator=g)
    x = torch.tanh(latent @ mix) + 0.1 * torch.randn(n, features, generator=g)
    return x, (latent[:, 0] * latent[:, 1] > 0).long()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--features", type=int, default=40)
    p.add_argument("--dim", type=int, default=128)
    p.add_argument("--depth", type=int, default=4)
    p.add_argument("--steps", type=int, default=2000)
    p.add_argument("--out", default="backbone.pt")
    a = p.parse_args()
    torch.manual_seed(0)
    net = Backbone(a.features, a.dim, a.depth)
    out = nn.Linear(a.dim, a.features)
    opt = torch.optim.Adam([*net.parameters(), *out.parameters()], lr=1e-3)
    x, _ = table(a.features, 20000, seed=1)
    for _ in range(a.steps):
        rows = x[torch.randint(len(x), (256,))]
        keep = (torch.rand_like(rows) > 0.3).float()
        loss = ((out(net(rows * keep)) - rows).pow(2) * (1 - keep)).sum() / (1 - keep).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"masked mse {loss.item():.4f}")
    torch.save(net.state_dict(), a.out)
