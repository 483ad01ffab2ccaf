import numpy as np
import torch
from torch.utils.data import Dataset


class Windows(Dataset):
    """Sliding windows over load.npy, (series, hours) float32: one week in, one day out."""

    def __init__(self, path, past=168, future=24, stride=24, part="train", holdout=0.2):
        data = np.load(path)
        cut = int(data.shape[1] * (1 - holdout))
        mean, std = data[:, :cut].mean(1, keepdims=True), data[:, :cut].std(1, keepdims=True) + 1e-6
        data = (data - mean) / std
        self.data = torch.from_numpy(data[:, :cut] if part == "train" else data[:, cut:])
        self.past, self.future = past, future
        starts = range(0, self.data.size(1) - past - future + 1, stride)
        self.index = [(s, t) for s in range(self.data.size(0)) for t in starts]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        s, t = self.index[i]
        row = self.data[s]
        return row[t:t + self.past], row[t + self.past:t + self.past + self.future]
