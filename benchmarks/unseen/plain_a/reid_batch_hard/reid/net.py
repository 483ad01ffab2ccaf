import torch.nn as nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(3, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU(),
            nn.Conv2d(12, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.neck = nn.Sequential(nn.Linear(24, dim), nn.BatchNorm1d(dim))

    def forward(self, x):
        return F.normalize(self.neck(self.trunk(x)))
