import torch.nn as nn


class LeafNet(nn.Module):
    """A convolutional backbone (as if pretrained) and a fresh classifier."""

    def __init__(self, classes, ch=8):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, ch, 3, 2, 1), nn.GroupNorm(2, ch), nn.ReLU(),
            nn.Conv2d(ch, 2 * ch, 3, 2, 1), nn.GroupNorm(2, 2 * ch), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(2 * ch, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)
