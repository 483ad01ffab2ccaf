import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, dim, heads, ffn, dropout):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ffn = nn.Sequential(nn.Linear(dim, ffn), nn.GELU(), nn.Linear(ffn, dim))
        self.drop = nn.Dropout(dropout)
        self.heads = heads

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        x = x + self.drop(self.proj(a.transpose(1, 2).reshape(b, t, d)))
        return x + self.drop(self.ffn(self.ln2(x)))


class ProteinEncoder(nn.Module):
    """ALBERT-like encoder: `groups` sets of weights over `depth` layers."""

    def __init__(self, vocab, dim=64, heads=4, depth=6, groups=2, ffn=128, dropout=0.1, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Embedding(max_len, dim)
        self.groups = nn.ModuleList(Block(dim, heads, ffn, dropout) for _ in range(groups))
        self.depth = depth
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)
        self.save_memory = False

    def gradient_checkpointing_enable(self):
        self.save_memory = True

    def layer(self, i):
        return self.groups[i * len(self.groups) // self.depth]

    def run_layer(self, i, x, mask):
        if self.save_memory and self.training:
            return checkpoint(self.layer(i), x, mask, use_reentrant=True)
        return self.layer(i)(x, mask)

    def forward(self, ids):
        mask = ids.ne(0)
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        for i in range(self.depth):
            x = self.run_layer(i, x, mask)
        return self.head(self.norm(x))
