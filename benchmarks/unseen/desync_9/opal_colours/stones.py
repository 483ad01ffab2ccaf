"""Spectra of opals under a lamp that turns."""

import random
import time

import torch
from torch.utils.data import Dataset

BANDS, PLAYS = 22, 5


class Stones(Dataset):
    """Spectra and the play of colour that an appraiser saw."""

    def __init__(self, rank, world, stones):
        self.numbers = range(rank, stones * world, world)
        self.random = random.Random(rank)
        self.patterns = torch.randn(PLAYS, BANDS, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        number = self.numbers[index]
        generator = torch.Generator().manual_seed(number)
        play = number % PLAYS
        spectrum = self.patterns[play] + 1.5 * torch.randn(BANDS, generator=generator)
        time.sleep((0.05 + 0.02 * self.random.random()) / 10)
        return spectrum, play


def network(width=30):
    return torch.nn.Sequential(
        torch.nn.Linear(BANDS, width),
        torch.nn.LeakyReLU(),
        torch.nn.Linear(width, PLAYS),
    )
