import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.conv = nn.Conv1d(width, width, 5, padding=2, groups=width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        y = self.norm(x)
        y = y + self.conv(y.transpose(1, 2)).transpose(1, 2)
        return x + self.down(nn.functional.silu(self.up(y)))


class Depth:
    """Which blocks take part in a step: each one is left out with a small probability (structured dropout)."""

    def __init__(self, probability: float, seed: int):
        self.probability = probability
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, count: int) -> list[bool]:
        return (torch.rand(count, generator=self.generator) >= self.probability).tolist()


class SpeechEncoder(nn.Module):
    def __init__(self, depth: Depth, bands=40, width=64, blocks=4, classes=10):
        super().__init__()
        self.depth = depth
        self.embed = nn.Linear(bands, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.embed(x)
        keep = self.depth.draw(len(self.blocks)) if self.training else [True] * len(self.blocks)
        for block, kept in zip(self.blocks, keep):
            if kept:
                x = block(x)
        return self.head(x.mean(dim=1))
