"""Woven patterns: small images of warp over weft, drawn from a pattern book."""
import torch
from torch.utils.data import Dataset

SIZE = 12


def weave(number, book):
    """A twill of some slope and offset, with faults of the loom; its class is the slope."""
    g = torch.Generator().manual_seed(7919 * book + number)
    slope = number % 4
    rows = torch.arange(SIZE)[:, None]
    columns = torch.arange(SIZE)[None]
    image = ((rows * (slope + 1) + columns + number // 4) % 5 < 2).float()
    faults = torch.rand(SIZE, SIZE, generator=g) < 0.1
    return torch.where(faults, 1 - image, image), slope


class PatternBook(Dataset):
    """The patterns of a mill, with the weight that the ledger gives to them."""

    def __init__(self, book, count, ledger):
        self.book = book
        self.count = count
        self.ledger = ledger
        self.passes = 0

    def __len__(self):
        return self.count

    def turn(self, per_epoch):
        """Another part of the book for the next epoch."""
        self.passes += 1
        self.offset = (self.passes - 1) * per_epoch % self.count

    def __getitem__(self, index):
        """Number, image, class and weight of a pattern of the current part."""
        number = (self.offset + index) % self.count
        image, slope = weave(number, self.book)
        return number, image, slope, self.ledger.weight(number)
