import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Batch:
    interior: torch.Tensor
    border: torch.Tensor
    border_u: torch.Tensor


def draw(n, gen, device):
    """Collocation points in (x, t), and points on the initial line and both walls."""
    interior = torch.rand(n, 2, generator=gen)
    m = n // 4
    start = torch.stack([torch.rand(m, generator=gen), torch.zeros(m)], 1)
    walls = torch.stack([torch.randint(0, 2, (m,), generator=gen).float(), torch.rand(m, generator=gen)], 1)
    border = torch.cat([start, walls])
    border_u = torch.cat([torch.sin(math.pi * start[:, 0]), torch.zeros(m)])
    return Batch(interior.to(device), border.to(device), border_u.to(device))


class HeatPINN(nn.Module):
    def __init__(self, width=32, depth=3, alpha=0.1, border_weight=10.0):
        super().__init__()
        dims = [2] + [width] * depth
        layers = []
        for i, o in zip(dims, dims[1:]):
            layers += [nn.Linear(i, o), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))
        self.alpha, self.border_weight = alpha, border_weight

    def forward(self, inputs, mode="predict"):
        if mode == "loss":
            return self.loss(inputs)
        return self.net(inputs).squeeze(-1)

    def loss(self, batch):
        xt = batch.interior.requires_grad_(True)
        u = self.net(xt).squeeze(-1)
        (du,) = torch.autograd.grad(u.sum(), xt, create_graph=True)
        (d2u,) = torch.autograd.grad(du[:, 0].sum(), xt, create_graph=True)
        residual = du[:, 1] - self.alpha * d2u[:, 0]
        border = self.net(batch.border).squeeze(-1) - batch.border_u
        return {"pde": residual.pow(2).mean(), "border": self.border_weight * border.pow(2).mean()}


def exact(xt, alpha=0.1):
    return torch.exp(-alpha * math.pi**2 * xt[:, 1]) * torch.sin(math.pi * xt[:, 0])
