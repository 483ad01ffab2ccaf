import torch
from torch import nn


class WideDeep(nn.Module):
    def __init__(self, cardinalities, dense_dim, emb_dim=8):
        super().__init__()
        self.wide = nn.ModuleList(nn.Embedding(c, 1) for c in cardinalities)
        self.deep = nn.ModuleList(nn.Embedding(c, emb_dim) for c in cardinalities)
        self.mlp = nn.Sequential(
            nn.Linear(emb_dim * len(cardinalities) + dense_dim, 64), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1),
        )

    def forward(self, cats, dense):
        wide = sum(e(cats[:, i]) for i, e in enumerate(self.wide))
        deep = torch.cat([e(cats[:, i]) for i, e in enumerate(self.deep)] + [dense], dim=1)
        return (wide + self.mlp(deep)).squeeze(1)
