import torch
from torch import nn

from stations import BANDS, PHRASES


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Separator(nn.Module):
    """Pulls the louder bird out of a duet."""

    def __init__(self, width, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.mask = nn.Linear(width, width)

    def forward(self, x):
        y = x
        for block in self.blocks:
            y = block(y)
        return x * torch.sigmoid(self.mask(y))


class PhraseNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.stem = nn.Linear(BANDS, width)
        self.body = Block(width)
        self.trunk = Block(width)
        self.separator = Separator(width)
        self.head = nn.Linear(width, PHRASES)

    def forward(self, sound, duet):
        x = self.trunk(self.body(torch.relu(self.stem(sound))))
        if duet.any():
            pulled = self.separator(x[duet])
            x = x.index_put((duet.nonzero().flatten(),), pulled)
        return self.head(x.mean(1))
