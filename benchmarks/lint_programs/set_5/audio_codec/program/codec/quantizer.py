"""Residual vector quantisation; the codebooks follow the encoder by moving averages, not by gradients."""
import torch
import torch.nn.functional as F
from torch import nn


class Codebook(nn.Module):
    def __init__(self, size, dim, decay=0.99, eps=1e-5):
        super().__init__()
        self.size, self.decay, self.eps = size, decay, eps
        codes = torch.randn(size, dim) / dim ** 0.5
        self.register_buffer("codes", codes)
        self.register_buffer("usage", torch.ones(size))
        self.register_buffer("sums", codes.clone())

    def nearest(self, x):
        return torch.cdist(x, self.codes).argmin(-1)

    @torch.no_grad()
    def follow(self, x, index):
        onehot = F.one_hot(index, self.size).type_as(x)
        counts, sums = onehot.sum(0), onehot.T @ x
        self.usage.lerp_(counts, 1 - self.decay)
        self.sums.lerp_(sums, 1 - self.decay)
        n = self.usage.sum()
        smoothed = (self.usage + self.eps) / (n + self.size * self.eps) * n
        self.codes.copy_(self.sums / smoothed[:, None])

    def forward(self, x):
        index = self.nearest(x.detach())
        q = F.embedding(index, self.codes)
        if self.training:
            self.follow(x.detach(), index)
        return q, index


class ResidualVQ(nn.Module):
    def __init__(self, books, size, dim):
        super().__init__()
        self.books = nn.ModuleList([Codebook(size, dim) for _ in range(books)])

    def forward(self, z):
        """z (B, D, T) -> quantised z with a straight-through gradient, commitment loss, codes (books, B*T)."""
        b, d, t = z.shape
        flat = z.transpose(1, 2).reshape(-1, d)
        residual, total, commit, codes = flat, torch.zeros_like(flat), 0.0, []
        for book in self.books:
            q, index = book(residual)
            commit = commit + F.mse_loss(residual, q)
            total = total + q
            residual = residual - q
            codes.append(index)
        total = flat + (total - flat).detach()
        return total.view(b, t, d).transpose(1, 2), commit / len(self.books), torch.stack(codes)
