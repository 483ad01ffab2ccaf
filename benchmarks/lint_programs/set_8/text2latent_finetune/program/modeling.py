import math

import torch
import torch.nn as nn


class TextEncoder(nn.Module):
    def __init__(self, vocab=64, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)

    def forward(self, ids):
        return self.mix(self.emb(ids))[0]


class Denoiser(nn.Module):
    """Conv net on 4x8x8 latents, conditioned on a pooled caption and the timestep."""

    def __init__(self, channels=4, width=32, cond=32):
        super().__init__()
        self.width = width
        self.inp = nn.Conv2d(channels, width, 3, padding=1)
        self.cond = nn.Sequential(nn.Linear(cond + width, width), nn.SiLU(), nn.Linear(width, 2 * width))
        self.mid = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.out = nn.Conv2d(width, channels, 3, padding=1)

    def time(self, t):
        half = self.width // 2
        freq = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
        arg = t[:, None].float() * freq
        return torch.cat([arg.sin(), arg.cos()], 1)

    def forward(self, x, t, text):
        scale, shift = self.cond(torch.cat([text.mean(1), self.time(t)], 1))[:, :, None, None].chunk(2, 1)
        h = self.inp(x)
        for conv in self.mid:
            h = h + conv(torch.nn.functional.silu(h * (1 + scale) + shift))
        return self.out(h)


class DDPMScheduler:
    def __init__(self, num_train_timesteps=200):
        self.num_train_timesteps = num_train_timesteps
        betas = torch.linspace(1e-4, 0.05, num_train_timesteps)
        self.alphas_cumprod = torch.cumprod(1 - betas, 0)

    def add_noise(self, x, noise, t):
        a = self.alphas_cumprod.to(x.device)[t][:, None, None, None]
        return a.sqrt() * x + (1 - a).sqrt() * noise
