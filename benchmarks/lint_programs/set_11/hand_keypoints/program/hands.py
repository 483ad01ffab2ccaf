import torch
import torch.nn as nn
from torch.utils.data import Dataset

JOINTS = 5


class Hands(Dataset):
    def __init__(self, n, size=24, offset=0):
        self.n, self.size, self.offset = n, size, offset

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(self.offset + i)
        joints = torch.rand(JOINTS, 2, generator=gen)
        grid = torch.linspace(0, 1, self.size)
        yy, xx = torch.meshgrid(grid, grid, indexing="ij")
        d = (yy - joints[:, 0, None, None]) ** 2 + (xx - joints[:, 1, None, None]) ** 2
        image = torch.exp(-d / 0.01)
        return image + 0.05 * torch.randn(image.shape, generator=gen), joints


class PoseNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(JOINTS, width, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(width * 36, JOINTS * 2))

    def forward(self, x):
        return self.head(self.body(x)).view(-1, JOINTS, 2)
