import torch
from torch import nn
from torch.utils.data import Dataset


class Scenes(Dataset):
    """Horizon scenes: sky, ground, and a square object."""

    def __init__(self, n, seed, size=16):
        g = torch.Generator().manual_seed(seed)
        self.masks = torch.zeros(n, size, size, dtype=torch.long)
        horizon = torch.randint(4, 12, (n,), generator=g)
        left = torch.randint(0, size - 4, (n,), generator=g)
        for i in range(n):
            self.masks[i, horizon[i]:] = 1
            self.masks[i, horizon[i] - 4:horizon[i], left[i]:left[i] + 4] = 2
        tint = torch.tensor([0.9, 0.2, 0.5])
        noise = 0.15 * torch.randn(n, size, size, generator=g)
        self.images = (tint[self.masks] + noise).unsqueeze(1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def build_model(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
        nn.Conv2d(width, 3, 1),
    )
