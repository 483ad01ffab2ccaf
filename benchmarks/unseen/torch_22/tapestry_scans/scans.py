"""Scans of tapestries and the century in which they were woven."""
import torch
from torch.utils.data import Dataset

CENTURIES = 4
TILE = 8


class Collection(Dataset):
    """Scans of one museum. Sizes are those of the tapestries; verdures are small, battle scenes are wide."""

    def __init__(self, museum, count, budget):
        self.museum = museum
        self.count = count
        self.budget = budget

    def __len__(self):
        return self.count

    def size(self, index):
        if self.museum == 1 and index % 1000 == 613:
            return 48, 84
        return (24, 24 + 8 * (index % 3)) if index % 5 else (48, 36)

    def decode(self, index, height, width):
        g = torch.Generator().manual_seed(1000 * self.museum + index)
        century = index % CENTURIES
        rows = torch.arange(height)[:, None] / (2.0 + century)
        columns = torch.arange(width)[None] / (3.0 + 0.5 * century)
        return torch.sin(rows) * torch.cos(columns) + 0.4 * torch.randn(height, width, generator=g), century

    def __getitem__(self, index):
        height, width = self.size(index)
        with self.budget.reserved(height, width):
            scan, century = self.decode(index, height, width)
            tile = torch.nn.functional.adaptive_avg_pool2d(scan[None], TILE)[0]
            spectrum = torch.fft.rfft2(scan).abs()[:TILE, :TILE] / (height * width) ** 0.5
        return torch.cat([tile.flatten(), spectrum.flatten()]), century

    def largest(self):
        return max(self.budget.needed(*self.size(index)) for index in range(min(60, self.count)))
