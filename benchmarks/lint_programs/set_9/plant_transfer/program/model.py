import torch
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.GroupNorm(4, width),
        )

    def forward(self, x):
        return torch.relu(x + self.body(x))


class LeafNet(nn.Module):
    def __init__(self, num_classes, width=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False), nn.GroupNorm(4, width), nn.ReLU(),
            Residual(width), nn.MaxPool2d(2), Residual(width),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(width, num_classes))

    def forward(self, x):
        return self.head(self.backbone(x))


def build_model(width, num_classes, weights=None):
    model = LeafNet(num_classes, width)
    if weights:
        state = torch.load(weights, map_location="cpu", weights_only=True)
        model.backbone.load_state_dict(state)
    return model
