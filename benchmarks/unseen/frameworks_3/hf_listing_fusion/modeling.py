from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class FusionConfig:
    vocab: int = 120
    width: int = 32
    n_categories: int = 6
    patch_dim: int = 48


class ImageTower(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.patches = nn.Linear(cfg.patch_dim, cfg.width)
        self.norm = nn.LayerNorm(cfg.width)

    def forward(self, pixels):
        return self.norm(F.gelu(self.patches(pixels))).mean(dim=1)


class ListingClassifier(nn.Module):
    """Title tokens plus, where a seller uploaded one, a photo."""

    def __init__(self, cfg=FusionConfig()):
        super().__init__()
        self.cfg = cfg
        self.words = nn.EmbeddingBag(cfg.vocab, cfg.width)
        self.image = ImageTower(cfg)
        self.classifier = nn.Linear(cfg.width, cfg.n_categories)

    def encode(self, title, pixels, has_photo):
        h = self.words(title)
        rows = has_photo.nonzero().flatten()
        if rows.numel() > 0:
            h = h.index_add(0, rows, self.image(pixels[rows]))
        return h

    def forward(self, title, pixels, has_photo, labels=None):
        logits = self.classifier(self.encode(title, pixels, has_photo))
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}
