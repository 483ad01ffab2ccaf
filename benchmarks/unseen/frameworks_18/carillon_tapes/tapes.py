"""Digitised tapes of carillons: files of frames, each after a synchronisation mark."""

import struct
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

MARK = b"\x1e\x96CARI"
SAMPLES = 96
BELLS = 6
NOISE_BYTES = 7


def strike(bell, rng):
    time = np.arange(SAMPLES) / SAMPLES
    tone = np.sin(2 * np.pi * (3 + 2 * bell) * time) * np.exp(-2 * time)
    return (tone + 0.3 * rng.standard_normal(SAMPLES)).astype("<f4")


def record(folder, tapes, frames, lost=()):
    """Writes the tapes and returns their register. Of the tapes in `lost` the end was cut by the transfer."""
    register = []
    for tape in range(tapes):
        rng = np.random.default_rng(tape)
        path = Path(folder) / f"tape{tape:03}.bin"
        written = frames - 1 if tape in lost else frames
        with path.open("wb") as out:
            for _ in range(written):
                bell = int(rng.integers(BELLS))
                out.write(bytes(rng.integers(32, 127, NOISE_BYTES, dtype="u1")))  # tape hiss between frames
                out.write(MARK + struct.pack("<B", bell) + strike(bell, rng).tobytes())
        register.append((path, frames))
    return register


class TapeReader:
    """Finds frames by their marks; what lies between them is skipped."""

    def __init__(self, path, block=512):
        self.file = open(path, "rb")
        self.block = block
        self.buffer = b""

    def need(self, size):
        while len(self.buffer) < size:
            self.buffer += self.file.read(self.block)

    def frame(self):
        while (at := self.buffer.find(MARK)) < 0:
            self.buffer = self.buffer[-len(MARK) :] + self.file.read(self.block)
        self.buffer = self.buffer[at + len(MARK) :]
        size = 1 + 4 * SAMPLES
        self.need(size)
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return body[0], np.frombuffer(body[1:], dtype="<f4").copy()

    def close(self):
        self.file.close()


class Strikes(Dataset):
    """All frames of all tapes in the register."""

    def __init__(self, register):
        self.index = [(path, i) for path, frames in register for i in range(frames)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, item):
        path, number = self.index[item]
        reader = TapeReader(path)
        for _ in range(number + 1):
            bell, samples = reader.frame()
        reader.close()
        return {"samples": torch.from_numpy(samples), "labels": bell}
