import math

import torch
from torch import nn
from torch.utils.data import TensorDataset


def demonstrations(n, seed):
    """Two-link arm: joint angles and target -> the expert's joint velocities."""
    g = torch.Generator().manual_seed(seed)
    q = 2 * math.pi * torch.rand(n, 2, generator=g)
    r, phi = 0.3 + 1.5 * torch.rand(n, generator=g), 2 * math.pi * torch.rand(n, generator=g)
    goal = torch.stack([r * phi.cos(), r * phi.sin()], 1)
    a, b = q[:, 0], q.sum(1)
    tip = torch.stack([a.cos() + b.cos(), a.sin() + b.sin()], 1)
    err = goal - tip
    jac = torch.stack([torch.stack([-tip[:, 1], tip[:, 0]], 1), torch.stack([-b.sin(), b.cos()], 1)], 2)
    action = (jac.transpose(1, 2) @ err[:, :, None]).squeeze(-1).clamp(-2, 2)
    return TensorDataset(torch.cat([q.cos(), q.sin(), goal], 1), action)


class Policy(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(6, hidden), nn.Mish(), nn.Linear(hidden, hidden), nn.Mish(), nn.Linear(hidden, 2)
        )

    def forward(self, obs):
        return self.net(obs)
