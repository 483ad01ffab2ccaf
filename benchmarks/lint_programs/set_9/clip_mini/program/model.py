import math

import torch
import torch.nn.functional as F
from torch import nn


class ImageTower(nn.Module):
    def __init__(self, in_dim: int, embed_dim: int, width: int = 128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(in_dim, width),
            nn.LayerNorm(width),
            nn.GELU(),
            nn.Linear(width, embed_dim),
        )

    def forward(self, x):
        return self.net(x)


class TextTower(nn.Module):
    def __init__(self, vocab: int, embed_dim: int, width: int = 128):
        super().__init__()
        self.emb = nn.Embedding(vocab, width)
        self.norm = nn.LayerNorm(width)
        self.proj = nn.Linear(width, embed_dim)

    def forward(self, tokens):
        return self.proj(self.norm(self.emb(tokens).mean(dim=1)))


class MiniCLIP(nn.Module):
    def __init__(self, image_dim: int = 64, vocab: int = 512, embed_dim: int = 64):
        super().__init__()
        self.visual = ImageTower(image_dim, embed_dim)
        self.text = TextTower(vocab, embed_dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, images, tokens):
        img = F.normalize(self.visual(images), dim=-1)
        txt = F.normalize(self.text(tokens), dim=-1)
        return img, txt, self.logit_scale.exp().clamp(max=100.0)
