import torch.nn as nn


class FirstStage(nn.Module):
    def __init__(self, vocab, dim, layers, max_len):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(max_len, dim)
        self.layers = nn.ModuleList(_layer(dim) for _ in range(layers))

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return x


class MidStage(nn.Module):
    def __init__(self, dim, layers):
        super().__init__()
        self.layers = nn.ModuleList(_layer(dim) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class LastStage(MidStage):
    def __init__(self, vocab, dim, layers):
        super().__init__(dim, layers)
        self.head = nn.Linear(dim, vocab)

    def forward(self, x):
        return self.head(super().forward(x))


def _layer(dim):
    return nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)


def build_stage(index, count, vocab, dim, layers, max_len):
    if index == 0:
        return FirstStage(vocab, dim, layers, max_len)
    if index == count - 1:
        return LastStage(vocab, dim, layers)
    return MidStage(dim, layers)
