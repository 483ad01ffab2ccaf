import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Enhance(nn.Module):
    """Correction that the dark frames receive before the head."""

    def __init__(self, dim):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, rows):
        return rows + self.inner(rows)


class CrossingNet(nn.Module):
    def __init__(self, pixels=48, dim=16, classes=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(pixels, dim), nn.ReLU())
        self.enhance = Enhance(dim)
        self.head = nn.Linear(dim, classes)

    @staticmethod
    def split(frames, level=0.35):
        return frames.mean(-1) < level

    def forward(self, frames):
        h = self.stem(frames)
        dark = self.split(frames)
        if dark.any():
            patch = self.enhance(h[dark])
            h = h.masked_scatter(dark[:, None].expand_as(h), patch)
        return self.head(h)


def shard(net, mesh):
    fully_shard(net.enhance, mesh=mesh)
    return fully_shard(net, mesh=mesh)
