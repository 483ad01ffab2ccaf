import torch
from torch.utils.data import Dataset

from .registry import DATASETS


@DATASETS.register("synthetic_galaxies")
class SyntheticGalaxies(Dataset):
    """Elliptical, spiral and edge-on blobs on a small pixel grid."""

    def __init__(self, length, size=16, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 3, (length,), generator=g)
        axis = torch.linspace(-1, 1, size)
        yy, xx = torch.meshgrid(axis, axis, indexing="ij")
        stretch = torch.tensor([1.0, 2.0, 5.0])[self.labels].view(-1, 1, 1)
        radius = (xx**2 + (yy * stretch) ** 2).sqrt()
        images = torch.exp(-3 * radius) + 0.1 * torch.randn(length, size, size, generator=g)
        self.images = images.unsqueeze(1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]
