import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, d))
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x))))


class Embed(nn.Module):
    def __init__(self, vocab, d, t):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(t, d)

    def forward(self, ids):
        return self.tok(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))


def build_stage(stage, stages, layers, vocab, d, heads, t):
    """Layers are dealt out evenly; the first stages take the remainder."""
    mine = layers // stages + (stage < layers % stages)
    parts = [Block(d, heads) for _ in range(mine)]
    if stage == 0:
        parts.insert(0, Embed(vocab, d, t))
    if stage == stages - 1:
        parts += [nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)]
    net = nn.Sequential(*parts)
    for p in net.parameters():
        if p.dim() > 1:
            nn.init.normal_(p, std=0.02)
    return net
