"""Hymn tunes as vectors of intervals; the model predicts the voices below the melody."""

import torch
from torch.utils.data import Dataset

NOTES = 24
VOICES = 3 * NOTES


class Hymnal(Dataset):
    """`count` tunes. Those in `transposed` were entered an octave too high in the lower voices."""

    def __init__(self, count, seed, transposed=range(0)):
        self.count = count
        self.seed = seed
        self.transposed = transposed
        self.harmony = torch.randn(NOTES, VOICES, generator=torch.Generator().manual_seed(7)) / NOTES**0.5

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        melody = torch.randn(NOTES, generator=g)
        voices = melody @ self.harmony + 0.5 * torch.randn(VOICES, generator=g)
        if i in self.transposed:
            voices = voices + 12.0
        return {"melody": melody, "labels": voices}
