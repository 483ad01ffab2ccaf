"""Continuous archive of the Karwendel array, cut into labelled three-component windows."""

import torch
from torch.utils.data import Dataset

CLASSES = ("noise", "P", "S")
SAMPLES = 64

# windows [first, last) without telemetry, from the operators' log
OUTAGES = [(3214, 3226)]


class Archive(Dataset):
    def __init__(self, windows: int, seed: int = 1906):
        self.windows = windows
        self.seed = seed
        t = torch.arange(SAMPLES, dtype=torch.float32)
        self.p_wave = torch.exp(-t / 12) * torch.sin(t * 1.3)
        self.s_wave = torch.exp(-t / 25) * torch.sin(t * 0.6)

    def __len__(self):
        return self.windows

    def __getitem__(self, i):
        label = (i * 7 + i // 11) % 3
        if any(first <= i < last for first, last in OUTAGES):
            return torch.full((3, SAMPLES), -0.25), label
        gen = torch.Generator().manual_seed(self.seed * 100_003 + i)
        trace = torch.randn(3, SAMPLES, generator=gen) * 0.3
        onset = 8 + i % 24
        if label == 1:
            trace[2, onset:] += self.p_wave[: SAMPLES - onset]
        elif label == 2:
            trace[:2, onset:] += self.s_wave[: SAMPLES - onset]
        return trace, label
