import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.GroupNorm(8, cout), nn.ReLU(),
            nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.GroupNorm(8, cout))
        self.skip = nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        return torch.relu(self.body(x) + self.skip(x))


class PlantNet(nn.Module):
    def __init__(self, classes, width=32):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.GroupNorm(8, width), nn.ReLU())
        self.stages = nn.ModuleList([
            Residual(width, width, 1), Residual(width, 2 * width, 2), Residual(2 * width, 4 * width, 2)])
        self.head = nn.Linear(4 * width, classes)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean((2, 3)))


def pretrained(classes, weights=None):
    net = PlantNet(classes)
    if weights:
        state = torch.load(weights, map_location="cpu")
        net.load_state_dict({k: v for k, v in state.items() if not k.startswith("head.")} |
                            {k: v for k, v in net.state_dict().items() if k.startswith("head.")})
    for part in (net.stem, net.stages):
        for p in part.parameters():
            p.requires_grad_(False)
    return net
