import torch.nn as nn
import torch.nn.functional as F

from tp_layers import ColumnLinear, RowLinear


class Block(nn.Module):
    def __init__(self, dim, heads, env):
        super().__init__()
        self.heads = heads // env.tp_size
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.k, self.v = (ColumnLinear(dim, dim, env) for _ in range(3))
        self.proj = RowLinear(dim, dim, env)
        self.up, self.down = ColumnLinear(dim, 4 * dim, env), RowLinear(4 * dim, dim, env)

    def forward(self, x):
        b, t, _ = x.shape
        h = self.n1(x)
        q, k, v = (f(h).view(b, t, self.heads, -1).transpose(1, 2)
                   for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, -1))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class ProteinEncoder(nn.Module):
    def __init__(self, vocab, dim, heads, layers, classes, env):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim, heads, env) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        x = self.emb(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))
