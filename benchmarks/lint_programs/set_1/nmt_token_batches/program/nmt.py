import math

import torch
from torch import nn

from batching import PAD


class Translator(nn.Module):
    def __init__(self, vocab, dim=512, heads=8, layers=6, ff=2048, dropout=0.1, max_len=256):
        super().__init__()
        self.dim = dim
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, dim)
        self.core = nn.Transformer(dim, heads, layers, layers, ff, dropout, batch_first=True, norm_first=True)
        self.out = nn.Linear(dim, vocab)

    def _embed(self, ids):
        return self.embed(ids) * math.sqrt(self.dim) + self.pos(torch.arange(ids.size(1), device=ids.device))

    def forward(self, src, tgt_in):
        n = tgt_in.size(1)
        causal = torch.ones(n, n, dtype=torch.bool, device=src.device).triu(1)
        h = self.core(self._embed(src), self._embed(tgt_in), tgt_mask=causal,
                      src_key_padding_mask=src.eq(PAD), tgt_key_padding_mask=tgt_in.eq(PAD),
                      memory_key_padding_mask=src.eq(PAD))
        return self.out(h)
