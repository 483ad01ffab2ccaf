import torch
from torch.utils.data import Dataset


class Tiles(Dataset):
    def __init__(self, count, seed, size=64, channels=4, classes=6):
        self.count, self.seed, self.size = count, seed, size
        self.channels, self.classes = channels, classes

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        image = torch.randn(self.channels, self.size, self.size, generator=gen)
        mask = (image[:1].cumsum(-1).abs() / 3).long().squeeze(0).clamp(max=self.classes - 1)
        return image, mask
