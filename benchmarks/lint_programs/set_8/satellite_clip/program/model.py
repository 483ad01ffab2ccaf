import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class TileEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(4, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.GELU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.GELU(),
            nn.Flatten(), nn.Linear(32 * 16, dim))

    def forward(self, x):
        return self.net(x)


class CaptionEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, ids):
        return self.mlp(self.emb(ids))


class DualEncoder(nn.Module):
    def __init__(self, vocab=64, dim=48):
        super().__init__()
        self.image = TileEncoder(dim)
        self.text = CaptionEncoder(vocab, dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, tiles, captions):
        return (F.normalize(self.image(tiles), dim=-1), F.normalize(self.text(captions), dim=-1),
                self.logit_scale.clamp(max=math.log(100)).exp())
