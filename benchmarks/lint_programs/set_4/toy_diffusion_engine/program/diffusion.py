import math

import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, width, depth, time_dim):
        super().__init__()
        self.register_buffer("freq", torch.exp(torch.linspace(0, -math.log(1000), time_dim // 2)))
        layers, dim = [], 2 + time_dim
        for _ in range(depth):
            layers += [nn.Linear(dim, width), nn.SiLU()]
            dim = width
        self.net = nn.Sequential(*layers, nn.Linear(dim, 2))

    def forward(self, x, t):
        ang = t[:, None].float() * self.freq
        return self.net(torch.cat([x, ang.sin(), ang.cos()], 1))


class Schedule:
    def __init__(self, timesteps, beta_min, beta_max, device):
        beta = torch.linspace(beta_min, beta_max, timesteps, device=device)
        self.abar, self.timesteps = torch.cumprod(1 - beta, 0), timesteps

    def loss(self, model, x):
        t = torch.randint(0, self.timesteps, (len(x),), device=x.device)
        eps = torch.randn_like(x)
        a = self.abar[t][:, None]
        return (model(a.sqrt() * x + (1 - a).sqrt() * eps, t) - eps).pow(2).mean()


def moons(n, device):
    half = torch.rand(n, device=device) < 0.5
    ang = math.pi * torch.rand(n, device=device)
    x = torch.where(half, ang.cos(), 1 - ang.cos())
    y = torch.where(half, ang.sin(), 0.5 - ang.sin())
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2, device=device)
