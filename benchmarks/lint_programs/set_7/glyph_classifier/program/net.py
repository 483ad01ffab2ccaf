import torch
import torch.nn as nn
from torch.utils.data import TensorDataset


class GlyphNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def glyphs(n, num_classes, seed):
    g = torch.Generator().manual_seed(1234)
    prototypes = torch.randn(num_classes, 1, 12, 12, generator=g)
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, num_classes, (n,), generator=g)
    x = prototypes[y] + 0.7 * torch.randn(n, 1, 12, 12, generator=g)
    return TensorDataset(x, y)
