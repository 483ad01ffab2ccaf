"""Hymns as sequences of chords; every process has a hymnal of its own."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

CHORDS = 14


class Hymnal(Dataset):
    """Verses in the order of the book; the long ones are litanies."""

    def __init__(self, number, verses):
        self.number, self.verses = number, verses

    def __len__(self):
        return self.verses

    def length(self, index):
        litany = self.number == 1 and index // 8 in (150, 151, 153)
        return 61 if litany else 32

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(30_000 * self.number + index)
        chords = torch.randn(self.length(index), CHORDS, generator=generator)
        following = chords.roll(-1, 0)[:, :4].argmax(1)
        return chords, following


class Stack:
    def __init__(self, number):
        self.random = random.Random(number)

    def __call__(self, verses):
        time.sleep(0.05 + 0.02 * self.random.random())
        chords, following = zip(*verses)
        return torch.stack(chords), torch.stack(following)


def hymnal_loader(number, verses):
    return DataLoader(Hymnal(number, verses), batch_size=8, collate_fn=Stack(number))


def pieces(chords, following, longest):
    """Pieces of a batch along the time, none longer than what fits into memory."""
    yield from zip(chords.split(longest, 1), following.split(longest, 1))
