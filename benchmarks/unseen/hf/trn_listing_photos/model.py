"""Price band of a listing from its text and, where there is one, its photo."""
import torch
from torch import nn


class PhotoTower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, dim, 3, stride=2, padding=1)
        )

    def forward(self, pixels):
        return self.layers(pixels).mean((2, 3))


class ListingModel(nn.Module):
    def __init__(self, vocab=120, dim=24, bands=6):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.text = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())
        self.photo = PhotoTower(dim)
        self.bands = nn.Linear(dim, bands)

    def forward(self, input_ids, pixel_values=None, photo_rows=None, labels=None, **loss_kwargs):
        features = self.text(self.words(input_ids).mean(1))
        if pixel_values is not None:
            features = features.index_add(0, photo_rows, self.photo(pixel_values))
        logits = self.bands(features)
        if labels is None:
            return {"logits": logits}
        items = loss_kwargs.get("num_items_in_batch")
        loss = nn.functional.cross_entropy(logits, labels, reduction="sum")
        return {"loss": loss / (items if items is not None else len(labels)), "logits": logits}
