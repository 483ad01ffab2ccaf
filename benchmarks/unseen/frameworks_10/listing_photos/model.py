import torch
from torch import nn


class ListingPrice(nn.Module):
    """Price of a flat from its facts, and from the photos where the listing has some."""

    def __init__(self, width=48):
        super().__init__()
        self.facts = nn.Sequential(nn.Linear(9, width), nn.ReLU(), nn.Linear(width, width))
        self.photos = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten())
        self.merge = nn.Linear(72, width)
        self.price = nn.Linear(width, 1)

    def forward(self, facts, photos, has_photo, labels=None):
        hidden = self.facts(facts)
        if has_photo.any():
            seen = self.merge(self.photos(photos[has_photo]))
            hidden = hidden.index_add(0, has_photo.nonzero().squeeze(1), seen)
        price = self.price(torch.relu(hidden)).squeeze(1)
        if labels is None:
            return {"price": price}
        return {"loss": nn.functional.l1_loss(price, labels), "price": price}
