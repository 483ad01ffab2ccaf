from torch import nn


class Stage(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(channels, channels, 5, padding=2),
            nn.GroupNorm(4, channels),
            nn.GELU(),
            nn.Conv1d(channels, channels, 1),
        )

    def forward(self, x):
        return x + self.body(x)


class Codec(nn.Module):
    def __init__(self, channels=16, stages=2):
        super().__init__()
        self.inlet = nn.Conv1d(1, channels, 7, padding=3)
        self.stages = nn.ModuleList(Stage(channels) for _ in range(stages))
        self.outlet = nn.Conv1d(channels, 1, 7, padding=3)

    def forward(self, wave):
        x = self.inlet(wave)
        for stage in self.stages:
            x = stage(x)
        return self.outlet(x)
