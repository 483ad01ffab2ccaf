import torch
import torch.nn as nn
import torch.nn.functional as F


class StatsPool(nn.Module):
    def forward(self, x):
        return torch.cat([x.mean(-1), x.std(-1)], dim=1)


class TDNN(nn.Module):
    def __init__(self, feat_dim, channels, embed_dim):
        super().__init__()
        self.frames = nn.Sequential(
            nn.Conv1d(feat_dim, channels, 5), nn.ReLU(), nn.GroupNorm(4, channels),
            nn.Conv1d(channels, channels, 3, dilation=2), nn.ReLU(), nn.GroupNorm(4, channels),
            nn.Conv1d(channels, channels, 1), nn.ReLU(),
        )
        self.pool = StatsPool()
        self.embed = nn.Linear(channels * 2, embed_dim)

    def forward(self, x):
        return self.embed(self.pool(self.frames(x)))


class SpeakerNet(nn.Module):
    """TDNN + additive-margin softmax."""

    def __init__(self, cfg, num_classes):
        super().__init__()
        self.tdnn = TDNN(cfg["feat_dim"], cfg["channels"], cfg["embed_dim"])
        self.weight = nn.Parameter(torch.randn(num_classes, cfg["embed_dim"]))
        self.margin = cfg["margin"]
        self.scale = cfg["scale"]

    def forward(self, x, y=None):
        cos = F.linear(F.normalize(self.tdnn(x)), F.normalize(self.weight))
        if y is None:
            return cos
        onehot = F.one_hot(y, cos.size(1)).to(cos.dtype)
        loss = F.cross_entropy(self.scale * (cos - self.margin * onehot), y)
        return loss, cos.detach()
