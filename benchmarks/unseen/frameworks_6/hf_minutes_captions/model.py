import torch
from torch import nn
from torch.nn import functional as F


class MinutesTagger(nn.Module):
    """Tags a meeting segment; segments with slides also read the slide vector."""

    def __init__(self, words=40, width=32, tags=5):
        super().__init__()
        self.embed = nn.EmbeddingBag(words, width)
        self.slide_proj = nn.Linear(10, width)
        self.mix = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.out = nn.Linear(width, tags)

    def fuse(self, h, slide, shown):
        rows = shown.nonzero().squeeze(1)
        if rows.numel():
            h = h.index_add(0, rows, self.slide_proj(slide[rows]))
        return h

    def forward(self, tokens=None, slide=None, shown=None, labels=None):
        h = self.fuse(self.embed(tokens), slide, shown)
        logits = self.out(self.mix(h))
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}
