import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Conv1d(width, width, 3, padding=1)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        y = self.norm(x)
        y = self.mix(y.transpose(1, 2)).transpose(1, 2)
        return x + self.out(torch.relu(y))


class Reads(nn.Module):
    def __init__(self, width=24, depth=2):
        super().__init__()
        self.embed = nn.Embedding(6, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 6)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
