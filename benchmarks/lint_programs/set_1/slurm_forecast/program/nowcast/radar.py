from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

FRAMES_IN, FRAMES_OUT = 6, 12


class RadarDays(Dataset):
    """All windows of 18 consecutive frames, `stride` frames apart, of a list of days."""

    def __init__(self, files, stride=6, crop=256, train=True):
        self.files = files
        self.crop = crop
        self.train = train
        n = FRAMES_IN + FRAMES_OUT
        self.windows = [(d, t) for d in range(len(files)) for t in range(0, 288 - n + 1, stride)]

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, i):
        day, t = self.windows[i]
        frames = np.load(self.files[day], mmap_mode="r")[t:t + FRAMES_IN + FRAMES_OUT]
        h, w = frames.shape[1:]
        if self.train:
            y, x = (int(torch.randint(0, s - self.crop + 1, ())) for s in (h, w))
        else:
            y, x = (h - self.crop) // 2, (w - self.crop) // 2
        patch = np.log1p(frames[:, y:y + self.crop, x:x + self.crop].astype(np.float32))
        patch = torch.from_numpy(patch)
        return patch[:FRAMES_IN], patch[FRAMES_IN:]


def split_days(root, valid_every=10):
    files = sorted(Path(root).glob("*.npy"))
    valid = files[::valid_every]
    return [f for f in files if f not in set(valid)], valid
