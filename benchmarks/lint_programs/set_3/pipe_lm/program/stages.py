import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d, heads=4):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.heads = heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.n2(x))


class Stage(nn.Module):
    """First stage: embedding + blocks. Last stage: blocks + output projection with the embedding matrix."""

    def __init__(self, stage, stages, vocab, d, layers):
        super().__init__()
        self.first, self.last = stage == 0, stage == stages - 1
        per = layers // stages
        self.blocks = nn.ModuleList(Block(d) for _ in range(per))
        if self.first or self.last:
            self.embedding = nn.Embedding(vocab, d)
        if self.last:
            self.norm = nn.LayerNorm(d)

    def forward(self, x):
        if self.first:
            x = self.embedding(x)
        for b in self.blocks:
            x = b(x)
        return x

    def loss(self, x, targets):
        logits = self.norm(x) @ self.embedding.weight.T / x.size(-1) ** 0.5
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
