import torch
from torch import nn


class ListingEncoder(nn.Module):
    """Title, price and, if the seller uploaded one, a thumbnail."""

    def __init__(self, vocab=300, dim=24, categories=8):
        super().__init__()
        self.title = nn.EmbeddingBag(vocab, dim)
        self.price = nn.Linear(1, dim)
        self.thumbnail = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, dim)
        )
        self.head = nn.Linear(dim, categories)

    def forward(self, batch):
        fused = self.title(batch["title"]) + self.price(batch["price"])
        has_photo = batch["photos"].flatten(1).any(dim=1)
        if has_photo.any():
            seen = self.thumbnail(batch["photos"][has_photo])
            fused = fused.index_add(0, has_photo.nonzero().squeeze(1), seen)
        return self.head(torch.relu(fused))
