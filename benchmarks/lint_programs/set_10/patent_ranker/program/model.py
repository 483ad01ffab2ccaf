import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab, dim, heads, layers):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, 4 * dim, batch_first=True, norm_first=True, dropout=0.0)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        h = self.emb(ids)
        for layer in self.layers:
            h = layer(h)
        return self.norm(h).mean(1)


class Ranker(nn.Module):
    """Scores a query against a relevant and an irrelevant patent."""

    def __init__(self, vocab=1000, dim=256, heads=4, layers=6):
        super().__init__()
        self.encoder = Encoder(vocab, dim, heads, layers)
        self.score = nn.Bilinear(dim, dim, 1)

    def forward(self, query, pos, neg):
        q, p, n = self.encoder(torch.cat([query, pos, neg])).chunk(3)
        good = self.score(q, p).squeeze(-1)
        bad = self.score(q, n).squeeze(-1)
        return good - bad
