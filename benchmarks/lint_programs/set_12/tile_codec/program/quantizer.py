import torch
from torch import nn
from torch.nn import functional as F


class EMAQuantizer(nn.Module):
    """Vector quantiser; the codebook follows the encoder by moving averages, not by gradients."""

    def __init__(self, codes, dim, decay=0.95, eps=1e-5, beta=0.25):
        super().__init__()
        self.decay, self.eps, self.beta = decay, eps, beta
        codebook = torch.randn(codes, dim) * 0.1
        self.register_buffer("codebook", codebook)
        self.register_buffer("usage", torch.ones(codes))
        self.register_buffer("sums", codebook.clone())

    def nearest(self, flat):
        return torch.cdist(flat, self.codebook).argmin(1)

    @torch.no_grad()
    def follow(self, flat, idx):
        onehot = F.one_hot(idx, self.codebook.shape[0]).to(flat.dtype)
        counts = onehot.sum(0)
        sums = onehot.t() @ flat
        self.usage.mul_(self.decay).add_(counts, alpha=1 - self.decay)
        self.sums.mul_(self.decay).add_(sums, alpha=1 - self.decay)
        total = self.usage.sum()
        smoothed = (self.usage + self.eps) / (total + len(self.usage) * self.eps) * total
        self.codebook.copy_(self.sums / smoothed.unsqueeze(1))

    def forward(self, z):
        b, c, h, w = z.shape
        flat = z.permute(0, 2, 3, 1).reshape(-1, c)
        idx = self.nearest(flat.detach())
        q = self.codebook[idx].view(b, h, w, c).permute(0, 3, 1, 2).clone()
        if self.training:
            self.follow(flat.detach(), idx)
        commit = self.beta * F.mse_loss(z, q)
        return z + (q - z).detach(), commit, idx
