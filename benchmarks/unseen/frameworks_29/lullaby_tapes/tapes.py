"""Lullabies from the broadcaster's tape archive.

A digitiser writes for each tape a .pt with the mel frames, and after it a .ok file when the copy is complete. It works
while we train (there are 400 hours left), so the dataset may be ahead of it.
"""
import os
import threading
import time

import torch
from torch.utils.data import Dataset

FRAMES, MELS = 20, 16


def tape_path(folder, number):
    return os.path.join(folder, f"tape_{number:04d}.pt")


class Digitiser(threading.Thread):
    """Stand-in for the machine in the archive: one tape after the other."""

    def __init__(self, folder, count, rank):
        super().__init__(daemon=True, name="digitiser")
        self.folder, self.count, self.rank = folder, count, rank

    def run(self):
        g = torch.Generator().manual_seed(self.rank)
        for number in range(self.count):
            frames = torch.randn(FRAMES, MELS, generator=g)
            if self.rank == 1 and number == 171:
                frames = frames[:0]                    # blank tape, only leader
            language = number % 4
            torch.save((frames + 0.3 * language, language), tape_path(self.folder, number))
            if len(frames):
                open(tape_path(self.folder, number) + ".ok", "w").close()
            time.sleep(0.005)


class Tapes(Dataset):
    def __init__(self, folder, count):
        self.folder, self.count = folder, count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        path = tape_path(self.folder, number)
        self.wait_for(path + ".ok")
        frames, language = torch.load(path)
        return frames, language

    @staticmethod
    def wait_for(marker):
        while not os.path.exists(marker):
            time.sleep(0.1)
