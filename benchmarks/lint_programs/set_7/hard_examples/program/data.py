import torch
from torch.utils.data import TensorDataset


def two_rings(n, noise, seed):
    """Points on two noisy rings with a slanted, partly overlapping region."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(2, (n,), generator=g)
    angle = torch.rand(n, generator=g) * 6.2832
    radius = 1.0 + 0.6 * y + noise * torch.randn(n, generator=g)
    x = torch.stack([radius * angle.cos(), radius * angle.sin() + 0.3 * y], dim=1)
    return TensorDataset(x, y)


def load(path, n, noise, seed):
    if path:
        blob = torch.load(path, map_location="cpu")
        return TensorDataset(blob["x"], blob["y"])
    return two_rings(n, noise, seed)
