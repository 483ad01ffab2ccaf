import torch
from torch.utils.data import Dataset


class PodCrops(Dataset):
    """Crops of pictures of pods with their masks. A crop shows at least `share` of a pod; the share rises."""

    def __init__(self, count, side=24, crop=12):
        self.side, self.crop = side, crop
        g = torch.Generator().manual_seed(3)
        self.masks = torch.zeros(count, side, side)
        for i in range(count):
            height, width = torch.randint(9, 16, (2,), generator=g).tolist()
            top = int(torch.randint(0, side - height, (1,), generator=g))
            left = int(torch.randint(0, side - width, (1,), generator=g))
            self.masks[i, top : top + height, left : left + width] = 1.0
        # a very young pod
        self.masks[211] = 0.0
        self.masks[211, 5:9, 10:14] = 1.0
        self.pictures = self.masks + 0.5 * torch.randn(count, side, side, generator=g)
        self.share = 0.0

    def begin(self, epoch):
        self.share = min(0.05 * epoch, 0.3)

    def __len__(self):
        return len(self.masks)

    def position(self, mask, g):
        while True:
            top, left = torch.randint(0, self.side - self.crop + 1, (2,), generator=g).tolist()
            window = mask[top : top + self.crop, left : left + self.crop]
            if window.mean() >= self.share:
                return top, left

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(torch.initial_seed() % 2**31 + i)
        top, left = self.position(self.masks[i], g)
        rows, columns = slice(top, top + self.crop), slice(left, left + self.crop)
        return self.pictures[i, rows, columns][None], self.masks[i, rows, columns][None]
