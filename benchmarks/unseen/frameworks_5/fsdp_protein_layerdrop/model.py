import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attend = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attend(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm(x))


class SequenceModel(nn.Module):
    """Masked amino acids, with stochastic depth after the warm-up."""

    def __init__(self, letters=22, dim=16, depth=5, generator=None):
        super().__init__()
        self.embed = nn.Embedding(letters, dim)
        self.layers = nn.ModuleList(Residual(dim) for _ in range(depth))
        self.out = nn.Linear(dim, letters)
        self.generator = generator
        self.drop_rate = 0.0

    def forward(self, letters):
        x = self.embed(letters)
        for layer in self.layers:
            if self._dropped():
                continue
            x = layer(x)
        return self.out(x)

    def _dropped(self):
        if not self.training or self.drop_rate == 0.0:
            return False
        return torch.rand((), generator=self.generator).item() < self.drop_rate
