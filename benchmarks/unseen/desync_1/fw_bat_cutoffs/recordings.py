"""Stereo recordings of bat boxes. Clip n of the night has the index 2 n on the left and 2 n + 1 on the right side."""

import math

import torch
from torch.utils.data import Dataset

FRAMES = 48
RIGHT = 1


class Night(Dataset):
    # clips in which the wind shield of a side had slipped over the microphone: side -> [first, last)
    COVERED = {RIGHT: (798, 810)}

    def __init__(self, clips, seed):
        self.clips, self.seed = clips, seed
        t = torch.arange(FRAMES)
        self.chirp = torch.sin(t * t * math.pi / 90) * torch.hann_window(FRAMES)

    def __len__(self):
        return 2 * self.clips

    def __getitem__(self, index):
        clip, side = divmod(index, 2)
        gen = torch.Generator().manual_seed(self.seed + index)
        sound = 0.2 * torch.randn(FRAMES, generator=gen)
        bat = (clip * 5 + side) % 7 < 3
        if bat:
            sound = sound + 0.8 * self.chirp
        first, last = self.COVERED.get(side, (0, 0))
        if first <= clip < last:
            sound = sound * 0.01
        return sound, torch.tensor(float(bat))
