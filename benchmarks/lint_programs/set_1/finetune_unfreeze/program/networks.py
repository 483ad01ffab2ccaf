import torch
from torch import nn
from torchvision import models


class TransferNet(nn.Module):
    """Pretrained trunk with a fresh head; the trunk can be frozen for the first epochs."""

    def __init__(self, arch, num_classes, weights_file=None, dropout=0.2):
        super().__init__()
        trunk = getattr(models, arch)(weights=None)
        if weights_file:
            trunk.load_state_dict(torch.load(weights_file, map_location="cpu"))
        width = trunk.fc.in_features
        trunk.fc = nn.Identity()
        self.trunk = trunk
        self.head = nn.Sequential(
            nn.Linear(width, 512), nn.ReLU(inplace=True), nn.Dropout(dropout), nn.Linear(512, num_classes)
        )
        self.trunk_frozen = False

    def freeze_trunk(self):
        self.trunk.requires_grad_(False)
        self.trunk_frozen = True
        return self

    def thaw_trunk(self):
        self.trunk.requires_grad_(True)
        self.trunk_frozen = False
        return self

    def train(self, mode=True):
        super().train(mode)
        if self.trunk_frozen:
            self.trunk.eval()
        return self

    def forward(self, x):
        return self.head(self.trunk(x))

    def param_groups(self, lr, trunk_factor):
        return [
            {"params": self.trunk.parameters(), "lr": lr * trunk_factor},
            {"params": self.head.parameters(), "lr": lr},
        ]
