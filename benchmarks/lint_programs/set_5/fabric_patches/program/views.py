import numpy as np
import torch
from torch.utils.data import Dataset


def augment(x, size):
    """Random crop, flip and brightness of a (3, H, W) float image."""
    top = int(torch.randint(x.size(1) - size + 1, ()))
    left = int(torch.randint(x.size(2) - size + 1, ()))
    x = x[:, top:top + size, left:left + size]
    if torch.rand(()) < 0.5:
        x = x.flip(2)
    return (x * (0.7 + 0.6 * torch.rand(()))).clamp(0, 1)


class TwoViews(Dataset):
    """Pairs of views of satellite patches, patches.npy (N, 3, H, W) uint8."""

    def __init__(self, path, size):
        self.patches = np.load(path, mmap_mode="r")
        self.size = size

    def __len__(self):
        return len(self.patches)

    def __getitem__(self, i):
        x = torch.from_numpy(np.array(self.patches[i])).float() / 255
        return augment(x, self.size), augment(x, self.size)
