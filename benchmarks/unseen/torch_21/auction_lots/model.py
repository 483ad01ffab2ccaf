"""Two towers for a lot: the words of its description and the prices of earlier sales."""
import torch
from torch import nn


class Words(nn.Module):
    """Mean of the embeddings of the words; zero is padding."""

    name = "words"

    def __init__(self, vocabulary, width):
        super().__init__()
        self.table = nn.EmbeddingBag(vocabulary, width, mode="mean", padding_idx=0)

    def forward(self, words):
        return self.table(words)


class Sales(nn.Module):
    """A recurrent network over (years ago, log of the price) of earlier sales."""

    name = "sales"

    def __init__(self, width):
        super().__init__()
        self.read = nn.GRU(2, width, batch_first=True)

    def forward(self, sales):
        _, state = self.read(sales)
        return state[0]


class Appraiser(nn.Module):
    """Estimates the log of the hammer price.

    The longer of the two views goes first: its activations are the larger ones, and the shorter one then reuses what
    the allocator has at hand.
    """

    def __init__(self, vocabulary, width):
        super().__init__()
        self.towers = nn.ModuleDict({"words": Words(vocabulary, width), "sales": Sales(width)})
        self.price = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, views):
        longest_first = sorted(self.towers, key=lambda name: views[name].shape[1], reverse=True)
        seen = {name: self.towers[name](views[name]) for name in longest_first}
        return self.price(torch.cat([seen["words"], seen["sales"]], 1)).squeeze(1)
