import torch
from torch import nn
from torch.nn import functional as F

from layout import enter_shards, leave_shards


class ShardedMLP(nn.Module):
    """Columns of the first and rows of the second matrix lie on the ranks of a tp group."""

    def __init__(self, width, hidden, layout, seed):
        super().__init__()
        self.group = layout.tp_group
        part = hidden // layout.tp_size
        g = torch.Generator().manual_seed(seed * 101 + layout.tp_rank)
        self.up = nn.Parameter(torch.randn(part, width, generator=g) * width ** -0.5)
        self.down = nn.Parameter(torch.randn(width, part, generator=g) * hidden ** -0.5)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        h = F.gelu(F.linear(enter_shards(x, self.group), self.up))
        return leave_shards(F.linear(h, self.down), self.group) + self.bias


class Mixer(nn.Module):
    def __init__(self, vocab, width, hidden, depth, layout, seed):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.mlps = nn.ModuleList(ShardedMLP(width, hidden, layout, seed + i) for i in range(depth))
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens):
        x = self.embed(tokens)
        for norm, mlp in zip(self.norms, self.mlps):
            steps = torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]
            mixed = x.cumsum(1) / steps
            x = x + mlp(norm(x + mixed))
        return self.head(x)
