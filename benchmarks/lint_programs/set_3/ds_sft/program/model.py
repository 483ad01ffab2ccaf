import torch
import torch.nn as nn
import torch.nn.functional as F


class Decoder(nn.Module):
    def __init__(self, vocab=32_000, dim=512, layers=8, heads=8, max_len=1024):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, batch_first=True, norm_first=True, dropout=0.0)
        self.body = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids, mask):
        t = ids.size(1)
        x = self.tok(ids) + self.pos.weight[:t]
        causal = torch.ones(t, t, dtype=torch.bool, device=ids.device).triu(1)
        logits = self.head(self.body(x, mask=causal))[:, :-1]
        tgt = ids[:, 1:].masked_fill(mask[:, 1:] == 0, -100)
        return F.cross_entropy(logits.flatten(0, 1).float(), tgt.flatten(), ignore_index=-100)
