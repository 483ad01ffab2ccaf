import torch
from torch import nn


class TinyDETR(nn.Module):
    def __init__(self, num_classes, num_queries=8, dim=64):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 32, 4, stride=4), nn.GELU(),
            nn.Conv2d(32, dim, 2, stride=2), nn.GELU(),
        )
        self.position = nn.Parameter(torch.randn(16, dim) * 0.02)
        self.queries = nn.Parameter(torch.randn(num_queries, dim) * 0.02)
        layer = nn.TransformerDecoderLayer(dim, 4, dim * 2, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 2)
        self.class_head = nn.Linear(dim, num_classes + 1)
        self.box_head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 4))

    def forward(self, images):
        feats = self.backbone(images).flatten(2).transpose(1, 2) + self.position
        queries = self.queries.expand(images.size(0), -1, -1)
        hidden = self.decoder(queries, feats)
        return {"logits": self.class_head(hidden), "boxes": self.box_head(hidden).sigmoid()}
