import torch
from torch import nn

from batching import PAD


class Seq2Seq(nn.Module):
    def __init__(self, vocab, dim=64, heads=4, layers=2, max_len=80):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, dim)
        self.core = nn.Transformer(dim, heads, layers, layers, 4 * dim, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def _embed(self, ids):
        return self.embed(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))

    def forward(self, src, tgt):
        mask = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool, device=tgt.device).triu(1)
        src_pad = src == PAD
        h = self.core(
            self._embed(src), self._embed(tgt), tgt_mask=mask,
            src_key_padding_mask=src_pad, memory_key_padding_mask=src_pad,
            tgt_key_padding_mask=tgt == PAD,
        )
        return self.out(h)
