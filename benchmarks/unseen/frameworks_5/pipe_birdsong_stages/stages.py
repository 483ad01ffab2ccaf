import time

from torch import nn


class Spectrogram(nn.Module):
    def __init__(self, samples=64, bands=16):
        super().__init__()
        self.project = nn.Linear(samples, bands)

    def forward(self, clip):
        time.sleep(0.003)
        return self.project(clip).abs().log1p()


class Body(nn.Module):
    def __init__(self, bands=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(bands, 32), nn.SiLU(), nn.Linear(32, bands))

    def forward(self, x):
        return x + self.layers(x)


class Species(nn.Module):
    def __init__(self, bands=16, species=9):
        super().__init__()
        self.norm = nn.LayerNorm(bands)
        self.out = nn.Linear(bands, species)

    def forward(self, x):
        return self.out(self.norm(x))


def build(index):
    return (Spectrogram, Body, Species)[index]()
