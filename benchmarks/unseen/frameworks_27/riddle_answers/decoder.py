"""Causal decoder, small enough for a laptop."""
import torch
from torch import nn

from riddles import LETTERS


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attend = nn.MultiheadAttention(width, 2, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        x = x + self.attend(x, x, x, attn_mask=mask, need_weights=False)[0]
        return x + self.feed(self.norm(x))


class Decoder(nn.Module):
    def __init__(self, width=32, depth=2):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.out = nn.Linear(width, LETTERS)

    def forward(self, text):
        x = self.letters(text)
        for block in self.blocks:
            x = block(x)
        return self.out(x)
