"""Scanned text lines with their transcriptions."""
import random

import torch
from torch.utils.data import Dataset

LETTERS = "abcdefghijklmnopqrstuvwxyz .,-'"
WORDS = "the ship left harbour early and nobody saw it return before winter came".split()


class ScannedLines(Dataset):
    height, width = 8, 40

    def __init__(self, count=960, seed=5):
        rng = random.Random(seed)
        self.texts = [" ".join(rng.choices(WORDS, k=4)) for _ in range(count)]
        self.texts[523] = "an account of £12, signed"
        self.images = torch.randn(count, self.height, self.width, generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return self.images[index], self.texts[index]


class Encoder:
    """Turns transcriptions into the integer targets of CTC; 0 is the blank."""

    def __init__(self, letters=LETTERS):
        self.index = {letter: number for number, letter in enumerate(letters, start=1)}

    def __call__(self, batch):
        images = torch.stack([image for image, _ in batch])
        targets = [[self.index[letter] for letter in text[:18]] for _, text in batch]
        sizes = torch.tensor([len(t) for t in targets])
        flat = torch.tensor([number for target in targets for number in target])
        return {"images": images, "targets": flat, "sizes": sizes}
