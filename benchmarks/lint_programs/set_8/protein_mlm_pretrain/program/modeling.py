from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


@dataclass
class ProtConfig:
    vocab_size: int = 25
    dim: int = 64
    heads: int = 4
    passes: int = 6
    groups: int = 2
    max_len: int = 64
    grad_ckpt: bool = False


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.ln1 = nn.LayerNorm(cfg.dim)
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim)
        self.out = nn.Linear(cfg.dim, cfg.dim)
        self.ln2 = nn.LayerNorm(cfg.dim)
        self.mlp = nn.Sequential(nn.Linear(cfg.dim, 4 * cfg.dim), nn.GELU(), nn.Linear(4 * cfg.dim, cfg.dim))

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=~pad[:, None, None, :])
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class Encoder(nn.Module):
    """`passes` applications of `groups` blocks (cross-layer sharing)."""

    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.groups))

    def forward(self, x, pad):
        for i in range(self.cfg.passes):
            block = self.blocks[i * self.cfg.groups // self.cfg.passes]
            if self.cfg.grad_ckpt and self.training:
                x = checkpoint(block, x, pad, use_reentrant=True)
            else:
                x = block(x, pad)
        return x


class ProtMLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.tok = nn.Embedding(cfg.vocab_size, cfg.dim, padding_idx=0)
        self.pos = nn.Embedding(cfg.max_len, cfg.dim)
        self.encoder = Encoder(cfg)
        self.norm = nn.LayerNorm(cfg.dim)
        self.bias = nn.Parameter(torch.zeros(cfg.vocab_size))

    def forward(self, ids, labels):
        pad = ids.eq(0)
        x = self.tok(ids) + self.pos.weight[: ids.size(1)]
        x = self.norm(self.encoder(x, pad))
        logits = F.linear(x, self.tok.weight, self.bias)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
