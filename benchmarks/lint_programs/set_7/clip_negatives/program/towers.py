import math

import torch
import torch.nn as nn


class ImageTower(nn.Module):
    def __init__(self, width, dim):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.GELU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1), nn.GELU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
            nn.Linear(8 * width, dim),
        )

    def forward(self, x):
        return self.body(x)


class TextTower(nn.Module):
    def __init__(self, vocab, width, dim):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, width, mode="mean")
        self.proj = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, dim))

    def forward(self, ids):
        return self.proj(self.embed(ids))


class DualEncoder(nn.Module):
    def __init__(self, vocab, width, dim):
        super().__init__()
        self.image = ImageTower(width, dim)
        self.text = TextTower(vocab, width, dim)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, images, ids):
        return self.image(images), self.text(ids), self.log_scale.exp().clamp(max=100.0)
