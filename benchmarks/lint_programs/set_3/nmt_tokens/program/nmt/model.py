import torch
import torch.nn as nn
import torch.nn.functional as F

from .data import PAD


class Seq2Seq(nn.Module):
    def __init__(self, vocab, dim=64, heads=4, layers=1, max_len=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.02)
        self.tf = nn.Transformer(dim, heads, layers, layers, 2 * dim, dropout=0.1, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def embed(self, x):
        return self.emb(x) + self.pos[: x.size(1)]

    def forward(self, src, tgt):
        inp, ref = tgt[:, :-1], tgt[:, 1:]
        t = inp.size(1)
        causal = torch.ones(t, t, dtype=torch.bool, device=src.device).triu(1)
        h = self.tf(self.embed(src), self.embed(inp), tgt_mask=causal, src_key_padding_mask=src == PAD,
                    memory_key_padding_mask=src == PAD)
        logits = self.out(h)
        return F.cross_entropy(logits.flatten(0, 1), ref.flatten(), ignore_index=PAD, reduction="sum"), (ref != PAD).sum()
