import time

import torch
from torch.utils.data import Dataset


class Beats(Dataset):
    """One heartbeat of 128 samples; the amplitude is divided by the beat's own range."""

    def __init__(self, count, flat=()):
        generator = torch.Generator().manual_seed(60)
        self.phase = torch.rand(count, generator=generator)
        self.kind = torch.randint(0, 4, (count,), generator=generator)
        self.flat = set(flat)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, index):
        time.sleep(0.016)
        time_axis = torch.linspace(0, 6.28, 128)
        beat = torch.sin(time_axis * (1 + self.kind[index]) + self.phase[index])
        if index in self.flat:
            beat = torch.zeros_like(beat)
        return (beat - beat.mean()) / (beat.max() - beat.min()), self.kind[index]
