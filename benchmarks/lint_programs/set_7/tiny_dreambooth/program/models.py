import torch
import torch.nn as nn


class TextEncoder(nn.Module):
    def __init__(self, vocab_size=64, dim=32, max_len=8):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(max_len, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1)

    def forward(self, ids):
        return self.layers(self.tok(ids) + self.pos[: ids.size(1)]).mean(1)


class Denoiser(nn.Module):
    def __init__(self, channels=3, dim=32, cond_dim=32, timesteps=100):
        super().__init__()
        self.time = nn.Embedding(timesteps, dim)
        self.cond = nn.Linear(cond_dim, dim)
        self.inp = nn.Conv2d(channels, dim, 3, padding=1)
        self.mid = nn.Sequential(nn.GroupNorm(4, dim), nn.SiLU(), nn.Conv2d(dim, dim, 3, padding=1))
        self.out = nn.Conv2d(dim, channels, 3, padding=1)

    def forward(self, x, t, cond):
        h = self.inp(x) + (self.time(t) + self.cond(cond))[:, :, None, None]
        return self.out(h + self.mid(h))


class NoiseSchedule:
    def __init__(self, timesteps=100, beta_start=1e-4, beta_end=0.02):
        betas = torch.linspace(beta_start, beta_end, timesteps)
        self.alphas_cumprod = torch.cumprod(1 - betas, 0)
        self.timesteps = timesteps

    def add_noise(self, x, noise, t):
        a = self.alphas_cumprod.to(x.device)[t][:, None, None, None]
        return a.sqrt() * x + (1 - a).sqrt() * noise
