"""Lace patterns as sequences of bobbin moves, with the quality that a lace maker gave them."""
import dataclasses

import torch


@dataclasses.dataclass
class Pricking:
    """A collection of patterns that were taken down from one book."""

    book: int
    patterns: int
    moves: int
    bobbins: int

    def __post_init__(self):
        g = torch.Generator().manual_seed(300 + self.book)
        self.sequence = torch.randint(0, self.bobbins, (self.patterns, self.moves), generator=g)
        pairs = (self.sequence[:, 1:] - self.sequence[:, :-1]).abs().float()
        self.quality = torch.tanh(pairs.mean(1) / self.bobbins - 0.3) + 0.05 * torch.randn(self.patterns, generator=g)
        if self.book == 1:
            # The broad edging on the last pages of this book was worked with one pair more.
            first = int(0.43 * self.patterns)
            self.sequence[first, self.moves // 2] = self.bobbins + 1


class Batches:
    """The patterns of a book in their order; every process has as many batches as the others."""

    def __init__(self, pricking, size):
        self.pricking = pricking
        self.size = size

    def __len__(self):
        return self.pricking.patterns // self.size

    def __iter__(self):
        for number in range(len(self)):
            part = slice(number * self.size, (number + 1) * self.size)
            sequence = self.pricking.sequence[part]
            mirrored = sequence.flip(1)
            yield torch.cat([sequence, mirrored]), self.pricking.quality[part].repeat(2)
