import torch
import torch.nn as nn
import torch.nn.functional as F


class Denoiser(nn.Module):
    def __init__(self, width=16, steps=100):
        super().__init__()
        self.time = nn.Embedding(steps, width)
        self.inp = nn.Conv2d(1, width, 3, padding=1, padding_mode="circular")
        self.mid = nn.Conv2d(width, width, 3, padding=1, padding_mode="circular")
        self.out = nn.Conv2d(width, 1, 3, padding=1, padding_mode="circular")

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t)[:, :, None, None])
        return self.out(F.silu(self.mid(h)) + h)


class Schedule:
    def __init__(self, steps, device):
        self.steps = steps
        self.alpha_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.05, steps, device=device), 0)

    def noised(self, x):
        """A random time for every field, and the field with that much noise."""
        t = torch.randint(self.steps, (x.shape[0],), device=x.device)
        noise = torch.randn_like(x)
        a = self.alpha_bar[t][:, None, None, None]
        return a.sqrt() * x + (1 - a).sqrt() * noise, t, noise


def vorticity(i, size=16):
    """A periodic field with a decaying spectrum."""
    gen = torch.Generator().manual_seed(i)
    spec = torch.fft.rfft2(torch.randn(size, size, generator=gen))
    ky, kx = torch.fft.fftfreq(size) * size, torch.fft.rfftfreq(size) * size
    k2 = ky[:, None] ** 2 + kx[None, :] ** 2
    field = torch.fft.irfft2(spec / (1 + k2), s=(size, size))
    return (field / field.std()).unsqueeze(0)
