"""Recorded organ pipes: harmonics, the stop they belong to, and whether the pipe speaks with a wolf."""

import time
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset

HARMONICS, STOPS = 18, 7


@dataclass
class PipeConfig:
    pipes: int = 7_200
    seconds: float = 0.0135
    wolves: tuple = (1691,)
    seed: int = 300


class Pipes(Dataset):
    def __init__(self, config):
        self.config = config
        generator = torch.Generator().manual_seed(config.seed)
        self.shapes = torch.rand(STOPS, HARMONICS, generator=generator)

    def __len__(self):
        return self.config.pipes

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.config.seed + index)
        self.listen(float(torch.rand(1, generator=generator)))
        stop = int(torch.randint(0, STOPS, (1,), generator=generator))
        spectrum = self.shapes[stop] + 0.2 * torch.randn(HARMONICS, generator=generator)
        wolf = index in self.config.wolves
        if wolf:
            spectrum = spectrum + 0.5 * spectrum.roll(1)
        return {"spectrum": spectrum, "stop": stop, "wolf": wolf}

    def listen(self, share):
        time.sleep(self.config.seconds * (0.8 + 0.4 * share))
