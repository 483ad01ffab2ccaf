import torch
from torch.utils.data import Dataset


class Shapes(Dataset):
    def __init__(self, count, size=32, classes=4, seed=0):
        self.count, self.size, self.classes, self.seed = count, size, classes, seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        mask = torch.zeros(self.size, self.size, dtype=torch.long)
        for c in range(1, self.classes):
            y, x = torch.randint(0, self.size - 8, (2,), generator=g).tolist()
            mask[y : y + 8, x : x + 8] = c
        image = torch.randn(3, self.size, self.size, generator=g) * 0.4
        image += torch.stack([mask == c for c in range(1, 4)]).float()
        return image, mask
