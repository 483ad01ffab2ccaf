import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self, hid=128, steps=100):
        super().__init__()
        self.t = nn.Embedding(steps, hid)
        self.inp = nn.Linear(2, hid)
        self.net = nn.Sequential(nn.SiLU(), nn.Linear(hid, hid), nn.SiLU(), nn.Linear(hid, 2))

    def forward(self, x, t):
        return self.net(self.inp(x) + self.t(t))


class Schedule:
    def __init__(self, steps, device):
        self.steps = steps
        beta = torch.linspace(1e-4, 0.08, steps, device=device)
        self.abar = torch.cumprod(1 - beta, 0)

    def noised(self, x0):
        t = torch.randint(self.steps, (x0.size(0),), device=x0.device)
        eps = torch.randn_like(x0)
        a = self.abar[t].unsqueeze(-1)
        return a.sqrt() * x0 + (1 - a).sqrt() * eps, t, eps


class Ema:
    def __init__(self, model, decay=0.999):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].lerp_(v, 1 - self.decay)
