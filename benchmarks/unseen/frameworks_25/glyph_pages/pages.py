"""Transcribed pages of glyphs: each scribe's book is copied by one process."""

import torch

GLYPHS = 60


class Book:
    """Pages as tensors of glyph numbers, `per_batch` at a time. Copybooks have 24 to 40 glyphs on a page."""

    def __init__(self, scribe, pages, per_batch, large=()):
        self.scribe = scribe
        self.pages = pages
        self.per_batch = per_batch
        self.large = frozenset(large)

    def page(self, number):
        g = torch.Generator().manual_seed(self.scribe * 50_021 + number)
        length = int(torch.randint(24, 41, (), generator=g))
        if number in self.large:
            length *= 4  # folded in, written on the whole sheet
        start = int(torch.randint(0, GLYPHS, (), generator=g))
        steps = torch.randint(1, 4, (length,), generator=g)
        return (start + steps.cumsum(0)) % GLYPHS

    def __iter__(self):
        for first in range(0, self.pages, self.per_batch):
            yield [self.page(number) for number in range(first, first + self.per_batch)]


def pack(pages, budget):
    """Splits pages into pieces of at most `budget` glyphs with padding, so that any page fits into memory."""
    pieces, current = [], []
    for page in sorted(pages, key=len, reverse=True):
        widest = len(current[0]) if current else len(page)
        if current and widest * (len(current) + 1) > budget:
            pieces.append(current)
            current = []
        current.append(page)
    pieces.append(current)
    return [torch.nn.utils.rnn.pad_sequence(piece, batch_first=True, padding_value=-100) for piece in pieces]
