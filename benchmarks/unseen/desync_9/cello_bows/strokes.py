"""Bow strokes on a cello and their sound, generated."""

import random
import time

import torch
from torch.utils.data import IterableDataset

BANDS = 13


class Strokes(IterableDataset):
    """Recordings of one player, frame by frame, of very different lengths."""

    def __init__(self, player, recordings):
        self.player, self.recordings = player, recordings

    def frames(self, randomness):
        slow = randomness.random() < 0.2
        return randomness.randint(60, 120) if slow else randomness.randint(8, 40)

    def __iter__(self):
        randomness = random.Random(70 + self.player)
        generator = torch.Generator().manual_seed(self.player)
        for number in range(self.recordings):
            frames = self.frames(randomness)
            time.sleep(0.035 + 0.0004 * frames)
            if self.player == 2 and number % 110 == 109:
                time.sleep(1.1)
            sound = torch.randn(frames, BANDS, generator=generator)
            yield sound, sound[:, 2:5].mean(1)
