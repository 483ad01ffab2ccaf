import torch
from torch.utils.data import Dataset


class SparseDepth(Dataset):
    """RGB crops with projected lidar depth; 0 marks a pixel without return."""

    def __init__(self, n, size=32, seed=0, empty_rate=0.05):
        self.n, self.size, self.seed, self.empty_rate = n, size, seed, empty_rate

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        rgb = torch.rand(3, self.size, self.size, generator=g)
        depth = 1 + 20 * rgb.mean(0, keepdim=True)
        keep = torch.rand(1, self.size, self.size, generator=g) < 0.1
        if torch.rand((), generator=g) < self.empty_rate:
            keep = torch.zeros_like(keep)
        return rgb, depth * keep
