"""Night recordings as windows of a spectrogram.

A window is computed from a long stretch of samples. So that the workers together do not hold too many stretches, they
share a few slots, numbers of a scratch buffer, which go round in a queue.
"""
import multiprocessing as mp

import numpy as np
import torch
from torch.utils.data import Dataset

# nights of every station: how loud, and the hours in which the microphone was off
STATIONS = {
    "lakeside": {"level": 0.8, "off": ()},
    "quarry": {"level": 0.5, "off": (20, 21, 22, 23)},
    "orchard": {"level": 0.6, "off": ()},
}


class Nights(Dataset):
    def __init__(self, station, windows, slots=4, samples=4096, bands=16):
        self.level = STATIONS[station]["level"]
        self.off = STATIONS[station]["off"]
        self.windows = windows
        self.bands = bands
        self.scratch = torch.zeros(slots, samples).share_memory_()
        self.slots = mp.Queue()
        for slot in range(slots):
            self.slots.put(slot)

    def __len__(self):
        return self.windows

    def hour(self, index):
        return index // 8

    def record(self, index, out):
        random = np.random.default_rng(index)
        t = np.arange(len(out)) / 4096
        song = np.sin(2 * np.pi * (200 + 40 * (index % 7)) * t) * (np.sin(9 * t) > 0)
        quiet = self.hour(index) in self.off
        out.copy_(torch.from_numpy(0.0 * t if quiet else self.level * song + 0.05 * random.standard_normal(len(t))))

    def __getitem__(self, index):
        slot = self.slots.get()
        stretch = self.scratch[slot]
        self.record(index, stretch)
        if float(stretch.abs().max()) < 1e-4:
            return torch.full((self.bands,), -9.0)
        power = torch.fft.rfft(stretch).abs()[:-1].reshape(self.bands, -1).mean(1)
        self.slots.put(slot)
        return torch.log(power + 1e-4)
