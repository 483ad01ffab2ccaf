import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, timesteps, width=32):
        super().__init__()
        self.time = nn.Embedding(timesteps, width)
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.mid = nn.Sequential(
            nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1),
            nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1),
        )
        self.out = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.stem(x) + self.time(t)[:, :, None, None]
        return self.out(h + self.mid(h))


class NoiseSchedule:
    def __init__(self, timesteps, device):
        betas = torch.linspace(1e-4, 0.04, timesteps, device=device)
        self.alpha_bar = torch.cumprod(1 - betas, dim=0)

    def add_noise(self, x, noise, t):
        a = self.alpha_bar[t].view(-1, 1, 1, 1)
        return a.sqrt() * x + (1 - a).sqrt() * noise
