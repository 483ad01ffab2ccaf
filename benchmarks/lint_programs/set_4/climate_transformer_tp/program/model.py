import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def _split(self, t):
        b, n, _ = t.shape
        return t.view(b, n, self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        h = self.n1(x)
        a = F.scaled_dot_product_attention(self._split(self.q(h)), self._split(self.k(h)), self._split(self.v(h)))
        x = x + self.o(a.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class FieldForecaster(nn.Module):
    """Patches of a lat/lon field at time t -> the same patches at t + 1."""

    def __init__(self, patch_dim=16, dim=64, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Linear(patch_dim, dim)
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.out = nn.Linear(dim, patch_dim)

    def forward(self, x):
        h = self.embed(x)
        for layer in self.layers:
            h = layer(h)
        return x + self.out(h)
