import torch
from torch import nn


class TwoScales(nn.Module):
    """Landslides: every patch goes through the local path, the steep ones through a second one."""

    def __init__(self, channels=4, hidden=8, steep=0.8):
        super().__init__()
        self.steep = steep
        self.local = nn.Sequential(nn.Conv2d(channels, hidden, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.context = nn.Sequential(nn.Conv2d(channels, hidden, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.risk = nn.Linear(hidden, 1)

    def forward(self, patch):
        features = self.local(patch).flatten(1)
        chosen = patch[:, 0].amax((1, 2)) > self.steep
        if chosen.any():
            refined = self.context(patch[chosen]).flatten(1)
            features = features.index_add(0, chosen.nonzero().squeeze(1), refined)
        return self.risk(features).squeeze(1)
