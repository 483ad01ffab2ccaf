import torch
import torch.nn as nn

from .dataset import PAD


class Translator(nn.Module):
    def __init__(self, vocab, dim, heads, layers, max_len):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, dim)
        self.core = nn.Transformer(dim, heads, layers, layers, 4 * dim, batch_first=True, dropout=0.1)
        self.out = nn.Linear(dim, vocab)

    def embed(self, ids):
        return self.tok(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))

    def forward(self, src, tgt):
        n = tgt.size(1)
        causal = torch.ones(n, n, dtype=torch.bool, device=tgt.device).triu(1)
        h = self.core(
            self.embed(src), self.embed(tgt), tgt_mask=causal,
            src_key_padding_mask=src == PAD, tgt_key_padding_mask=tgt == PAD,
            memory_key_padding_mask=src == PAD,
        )
        return self.out(h)
