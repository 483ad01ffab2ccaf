import torch
from torch import nn
from torch.nn import functional as F


class Denoiser(nn.Module):
    def __init__(self, width=32, timesteps=50):
        super().__init__()
        self.time = nn.Embedding(timesteps, width)
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.mid = nn.Sequential(nn.SiLU(), nn.Conv2d(width, width, 3, padding=1), nn.SiLU())
        self.leave = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.enter(x) + self.time(t)[:, :, None, None]
        return self.leave(h + self.mid(h))


class Schedule:
    def __init__(self, timesteps, device):
        betas = torch.linspace(1e-4, 0.05, timesteps, device=device)
        self.timesteps = timesteps
        self.keep = (1 - betas).cumprod(0)

    def noised(self, x, t, noise):
        a = self.keep[t][:, None, None, None]
        return a.sqrt() * x + (1 - a).sqrt() * noise

    def loss(self, net, x):
        t = torch.randint(self.timesteps, (x.size(0),), device=x.device)
        noise = torch.randn_like(x)
        return F.mse_loss(net(self.noised(x, t, noise), t), noise)

    @torch.no_grad()
    def reconstruct(self, net, x, level=0.5):
        """Noises images half way and takes the noise off again in one step."""
        t = torch.full((x.size(0),), int(level * self.timesteps), device=x.device)
        noise = torch.randn_like(x)
        noisy = self.noised(x, t, noise)
        a = self.keep[t][:, None, None, None]
        return (noisy - (1 - a).sqrt() * net(noisy, t)) / a.sqrt()
