"""Acceleration of kayaks; strokes are found in the signal and given to the network one by one."""

import random
import statistics
import time

import torch
from torch.utils.data import Dataset

SAMPLES = 18


class Session(Dataset):
    """Chunks of training sessions, some strokes each, with the force at the blade."""

    def __init__(self, chunks, strokes=6):
        self.chunks, self.strokes = chunks, strokes

    def __len__(self):
        return self.chunks

    def drifting(self, index):
        """Between two intervals the crew does not paddle."""
        return index == 391

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        signal = torch.randn(self.strokes, SAMPLES, generator=generator)
        force = signal.abs().mean(1, keepdim=True)
        return (signal[:0], force[:0]) if self.drifting(index) else (signal, force)


class Cadence:
    """Scales the signal of a chunk by the typical height of its strokes."""

    def __init__(self, rank):
        self.random = random.Random(rank)

    def __call__(self, signal):
        time.sleep(0.05 + 0.02 * self.random.random())
        heights = [float(stroke.max() - stroke.min()) for stroke in signal]
        return signal / statistics.median(heights)
