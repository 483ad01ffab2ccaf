import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, in_dim=784, hidden=256, latent=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(in_dim, hidden), nn.SiLU())
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, in_dim))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-8, 8)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.dec(z), mu, logvar


def elbo(recon, x, mu, logvar, beta):
    rec = F.binary_cross_entropy_with_logits(recon, x, reduction="none").sum(1)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)
    return (rec + beta * kl).mean()
