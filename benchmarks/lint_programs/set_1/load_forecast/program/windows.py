import numpy as np
import torch
from torch.utils.data import Dataset


class LoadWindows(Dataset):
    """Sliding windows over a (time, meters) matrix of electricity loads."""

    def __init__(self, matrix, history=168, horizon=24, stride=1):
        self.x = torch.as_tensor(matrix, dtype=torch.float32)
        self.history, self.horizon = history, horizon
        steps = range(0, self.x.size(0) - history - horizon + 1, stride)
        self.index = [(t, m) for m in range(self.x.size(1)) for t in steps]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        t, m = self.index[i]
        past = self.x[t:t + self.history, m]
        future = self.x[t + self.history:t + self.history + self.horizon, m]
        scale = past.abs().mean() + 1.0
        return past / scale, future / scale, m


def load_splits(path, history, horizon, val_fraction=0.15):
    matrix = np.load(path)
    cut = int(len(matrix) * (1 - val_fraction))
    train = LoadWindows(matrix[:cut], history, horizon)
    val = LoadWindows(matrix[cut - history:], history, horizon, stride=horizon)
    return train, val
