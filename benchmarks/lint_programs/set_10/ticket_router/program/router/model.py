from torch import nn


class BagRouter(nn.Module):
    def __init__(self, vocab_size, n_classes, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, n_classes))

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1)
        x = self.emb(ids) * mask
        return self.mlp(x.sum(1) / mask.sum(1).clamp(min=1))
