import copy
import math

import torch
from torch import nn
from torch.nn import functional as F


def time_embedding(t, dim):
    half = dim // 2
    freq = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
    arg = t.float()[:, None] * freq[None]
    return torch.cat([arg.sin(), arg.cos()], dim=1)


class Res(nn.Module):
    def __init__(self, cin, cout, emb):
        super().__init__()
        self.a = nn.Sequential(nn.GroupNorm(8, cin), nn.SiLU(), nn.Conv2d(cin, cout, 3, padding=1))
        self.t = nn.Linear(emb, cout)
        self.b = nn.Sequential(nn.GroupNorm(8, cout), nn.SiLU(), nn.Conv2d(cout, cout, 3, padding=1))
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, e):
        h = self.a(x) + self.t(e)[:, :, None, None]
        return self.b(h) + self.skip(x)


class Denoiser(nn.Module):
    def __init__(self, ch=96, emb=256):
        super().__init__()
        self.emb = emb
        self.time = nn.Sequential(nn.Linear(emb, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.stem = nn.Conv2d(3, ch, 3, padding=1)
        self.d1, self.d2, self.mid = Res(ch, ch, emb), Res(ch, 2 * ch, emb), Res(2 * ch, 2 * ch, emb)
        self.u2, self.u1 = Res(4 * ch, ch, emb), Res(2 * ch, ch, emb)
        self.out = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, 3, 3, padding=1))

    def forward(self, x, t):
        e = self.time(time_embedding(t, self.emb))
        h1 = self.d1(self.stem(x), e)
        h2 = self.d2(F.avg_pool2d(h1, 2), e)
        m = self.mid(F.avg_pool2d(h2, 2), e)
        y = self.u2(torch.cat([F.interpolate(m, scale_factor=2.0), h2], 1), e)
        y = self.u1(torch.cat([F.interpolate(y, scale_factor=2.0), h1], 1), e)
        return self.out(y)


class Schedule:
    def __init__(self, steps, device):
        self.steps = steps
        beta = torch.linspace(1e-4, 0.02, steps, device=device)
        self.abar = torch.cumprod(1 - beta, 0)

    def noisy(self, x, t, eps):
        a = self.abar[t][:, None, None, None]
        return a.sqrt() * x + (1 - a).sqrt() * eps


class EMA:
    def __init__(self, net, decay=0.9995):
        self.net = copy.deepcopy(net).requires_grad_(False).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, net):
        for mine, theirs in zip(self.net.parameters(), net.parameters()):
            mine.lerp_(theirs, 1 - self.decay)
