import torch
from torch import nn
from torch.utils.data import Dataset

CLASSES = 5


class Digits(Dataset):
    """Noisy class prototypes; `weak` and `strong` views of every image."""

    def __init__(self, count, seed, size=16):
        g = torch.Generator().manual_seed(99)
        self.prototypes = torch.randn(CLASSES, 1, size, size, generator=g)
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        label = int(torch.randint(0, CLASSES, (), generator=g))
        image = self.prototypes[label] + torch.randn(self.prototypes[0].shape, generator=g)
        weak = image + 0.1 * torch.randn(image.shape)
        strong = image * (torch.rand(image.shape) > 0.3) + 0.3 * torch.randn(image.shape)
        return weak, strong, label


class ConvNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.GroupNorm(4, 2 * width), nn.ReLU(),
        )
        self.head = nn.Linear(2 * width, CLASSES)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))
