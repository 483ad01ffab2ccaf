import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import resnet50


class TextTower(nn.Module):
    """Byte-level transformer, pooled at the end-of-text position."""

    def __init__(self, dim=384, layers=6, heads=6, context=96, vocab=259):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(context, dim) * 0.01)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, activation="gelu",
                                           batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos[: tokens.size(1)]
        x = self.blocks(x, src_key_padding_mask=tokens.eq(0))
        last = tokens.ne(0).sum(1) - 1
        return self.norm(x[torch.arange(x.size(0), device=x.device), last])


class PairModel(nn.Module):
    def __init__(self, embed_dim=256):
        super().__init__()
        self.visual = resnet50(weights=None)
        self.visual.fc = nn.Linear(self.visual.fc.in_features, embed_dim)
        self.text = TextTower()
        self.text_proj = nn.Linear(384, embed_dim, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def encode_image(self, images):
        return F.normalize(self.visual(images), dim=-1)

    def encode_text(self, tokens):
        return F.normalize(self.text_proj(self.text(tokens)), dim=-1)

    def forward(self, images, tokens):
        return self.encode_image(images), self.encode_text(tokens), self.logit_scale.exp()
