import torch
from torch import nn


def stage(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride=2, padding=1), nn.GroupNorm(4, cout), nn.ReLU())


class LeafNet(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.backbone = nn.Sequential(stage(3, width), stage(width, 2 * width))
        self.head = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, classes))

    def forward(self, x):
        return self.head(self.backbone(x).mean((2, 3)))


def set_trainable(model, prefixes, flag):
    count = 0
    for name, p in model.named_parameters():
        if any(name.startswith(prefix + ".") for prefix in prefixes):
            p.requires_grad_(flag)
            count += p.numel()
    return count


def param_groups(model, optim):
    return [
        {"params": list(model.backbone.parameters()), "lr": optim["backbone_lr"]},
        {"params": list(model.head.parameters()), "lr": optim["lr"]},
    ]
