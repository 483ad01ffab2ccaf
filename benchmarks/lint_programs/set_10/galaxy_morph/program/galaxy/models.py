import torch
from torch import nn

from .registry import MODELS


@MODELS.register("convnet_tiny")
class ConvNetTiny(nn.Module):
    def __init__(self, num_classes, width=16, drop=0.1):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.norm1 = nn.GroupNorm(4, width)
        self.block = nn.Conv2d(width, width * 2, 3, stride=2, padding=1)
        self.norm2 = nn.GroupNorm(4, width * 2)
        self.drop = nn.Dropout(drop)
        self.head = nn.Linear(width * 2, num_classes)

    def forward(self, x):
        x = torch.relu(self.norm1(self.stem(x)))
        x = torch.relu(self.norm2(self.block(x)))
        return self.head(self.drop(x.mean(dim=(2, 3))))
