import torch
from torch.utils.data import Dataset


class Sprites(Dataset):
    """Symmetric 16x16 sprites in the range -1..1."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        half = (torch.rand(n, 1, 8, 4, generator=g) > 0.5).float()
        full = torch.cat([half, half.flip(-1)], dim=-1)
        self.images = torch.nn.functional.interpolate(full, size=(16, 16)) * 2 - 1

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {"images": self.images[i]}
