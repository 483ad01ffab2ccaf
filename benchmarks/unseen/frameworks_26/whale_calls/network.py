import torch
from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from calls import BANDS, POPULATIONS


class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Listener(nn.Module):
    """A block for each octave, then the mean over time."""

    def __init__(self, hidden, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(BANDS, hidden) for _ in range(depth))
        self.head = nn.Linear(BANDS, POPULATIONS)

    def forward(self, frames):
        for block in self.blocks:
            frames = block(frames)
        return self.head(frames.mean(1))


def split(model, mesh):
    for block in model.blocks:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model
