import torch
from torch.utils.data import Dataset


class GridBoxes(Dataset):
    """Images of 8x8 cells; a cell is 1 where an object has its centre."""

    def __init__(self, n, seed, size=8):
        g = torch.Generator().manual_seed(seed)
        self.targets = (torch.rand(n, size, size, generator=g) > 0.93).float()
        blur = torch.nn.functional.avg_pool2d(self.targets.unsqueeze(1), 3, 1, 1)
        noise = 0.1 * torch.randn(n, 1, size, size, generator=g)
        self.images = blur * 3 + self.targets.unsqueeze(1) + noise

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.targets[i]
