import torch
from torch import nn
from torch.utils.data import Dataset

STROKES = 20
HANDS = 6


class Ledgers(Dataset):
    """Lines of ledgers as strokes of the pen, and the clerk who wrote them.

    `copied` are lines that one clerk copied from another: the hand is his, the name at the foot of the page is not.
    """

    def __init__(self, lines, seed, copied=range(0)):
        self.lines = lines
        self.seed = seed
        self.copied = copied
        self.styles = 1.5 * torch.randn(HANDS, STROKES, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return self.lines

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        hand = int(torch.randint(HANDS, (), generator=g))
        strokes = self.styles[hand] + 0.5 * torch.randn(STROKES, generator=g)
        name = (hand + 1) % HANDS if i in self.copied else hand
        return {"strokes": strokes, "labels": torch.tensor(name)}


class HandModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(STROKES, hidden), nn.GELU(), nn.Linear(hidden, HANDS))

    def forward(self, strokes, labels=None):
        logits = self.net(strokes)
        loss = nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}
