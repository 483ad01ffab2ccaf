import torch
from torch import nn
from torch.utils.data import TensorDataset

VOCAB, DOC, HEAD = 64, 24, 4


def corpus(n, seed):
    """Documents of filler (ids >= 32) with HEAD key words (ids < 32), which are the headline."""
    g = torch.Generator().manual_seed(seed)
    docs = torch.randint(32, VOCAB, (n, DOC), generator=g)
    heads = torch.randint(0, 32, (n, HEAD), generator=g)
    slots = torch.rand(n, DOC, generator=g).argsort(1)[:, :HEAD].sort(1).values
    return TensorDataset(docs.scatter(1, slots, heads), heads)


class Headliner(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, dim), nn.Embedding(DOC, dim)
        self.query = nn.Parameter(0.1 * torch.randn(HEAD, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.att = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, doc):
        h = self.enc(self.tok(doc) + self.pos.weight)
        q = self.query.expand(len(doc), -1, -1)
        return self.out(self.att(q, h, h, need_weights=False)[0])
