from torch import nn


class Stage(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(cin, cout, 5, stride=2, padding=2), nn.GroupNorm(4, cout), nn.GELU(),
            nn.Conv1d(cout, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.GELU(),
        )

    def forward(self, x):
        return self.body(x)


class AudioNet(nn.Module):
    def __init__(self, classes=6, widths=(16, 24, 32)):
        super().__init__()
        dims = (1, *widths)
        self.stages = nn.ModuleList(Stage(a, b) for a, b in zip(dims, dims[1:]))
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, wave):
        x = wave.unsqueeze(1)
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean(dim=-1))


def freeze_stages(net, count):
    for stage in net.stages[:count]:
        stage.requires_grad_(False)
    return net
