import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    """One tower for queries and passages."""

    def __init__(self, vocab, dim, heads=4, layers=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, batch_first=True, norm_first=True, dropout=0.1)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def encode(self, ids):
        pad = ids == 0
        x = self.body(self.embed(ids), src_key_padding_mask=pad)
        x = x.masked_fill(pad[..., None], 0).sum(1) / (~pad).sum(1, keepdim=True).clamp(min=1)
        return F.normalize(x, dim=-1)

    def forward(self, queries, passages):
        return self.encode(queries), self.encode(passages)
