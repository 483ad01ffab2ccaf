import torch
import torch.nn as nn
import torch.nn.functional as F

from moe import SwitchFFN


class Attn(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.inp, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.inp(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class MidiMoE(nn.Module):
    def __init__(self, vocab, dim=512, layers=8, heads=8, length=1024, experts_per_rank=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.zeros(length, dim))
        self.attn = nn.ModuleList(Attn(dim, heads) for _ in range(layers))
        self.ffn = nn.ModuleList(SwitchFFN(dim, 4 * dim, experts_per_rank) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * layers + 1))

    def forward(self, ids):
        x = self.tok(ids) + self.pos[: ids.size(1)]
        balance = 0.0
        for i, (attn, ffn) in enumerate(zip(self.attn, self.ffn)):
            x = x + attn(self.norms[2 * i](x))
            y, b = ffn(self.norms[2 * i + 1](x))
            x, balance = x + y, balance + b
        return F.linear(self.norms[-1](x), self.tok.weight), balance / len(self.ffn)
