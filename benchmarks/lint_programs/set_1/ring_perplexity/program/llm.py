import torch
import torch.nn as nn
import torch.nn.functional as F

from attention import Rotary, ring_attention


class Layer(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.heads = heads
        self.ln_attn, self.ln_mlp = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.wq, self.wkv = nn.Linear(dim, dim, bias=False), nn.Linear(dim, 2 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.gate, self.up = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x, rotary, ring):
        b, s, dim = x.shape
        h = self.ln_attn(x)
        q = self.wq(h).view(b, s, self.heads, -1).transpose(1, 2).contiguous()
        kv = self.wkv(h).view(b, s, 2, self.heads, -1).permute(2, 0, 3, 1, 4).contiguous()
        y = ring_attention(q, kv, rotary, ring)
        x = x + self.wo(y.transpose(1, 2).reshape(b, s, dim))
        h = self.ln_mlp(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class LLM(nn.Module):
    def __init__(self, vocab, dim, layers, heads, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.rotary = Rotary(dim // heads)

    def forward(self, ids, ring):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x, self.rotary, ring)
        return self.norm(x)
