import torch
from torch.utils.data import Dataset


class WaferMaps(Dataset):
    """Die maps with no defect, an edge ring or a scratch."""

    def __init__(self, n, seed, size=12):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 3, (n,), generator=g)
        axis = torch.linspace(-1, 1, size)
        yy, xx = torch.meshgrid(axis, axis, indexing="ij")
        ring = ((xx**2 + yy**2).sqrt() > 0.85).float()
        scratch = ((xx - yy).abs() < 0.15).float()
        patterns = torch.stack([torch.zeros_like(ring), ring, scratch])
        noise = (torch.rand(n, size, size, generator=g) > 0.8).float()
        self.maps = (0.7 * patterns[self.labels] + 0.5 * noise).unsqueeze(1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.maps[i], self.labels[i]
