import torch
from torch.utils.data import Dataset


class AerialTiles(Dataset):
    """Square tiles cut from aerial scenes; every tile has its list of boxes (cx, cy, w, h in 0..1)."""

    def __init__(self, length=256, size=32, num_classes=4, max_objects=3, seed=0):
        self.length = length
        self.size = size
        self.num_classes = num_classes
        self.max_objects = max_objects
        self.seed = seed

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(self.seed * 100003 + index)
        image = torch.randn(3, self.size, self.size, generator=g) * 0.1
        n = max(0, int(torch.randint(-2, self.max_objects + 1, (1,), generator=g)))
        centers = torch.rand(n, 2, generator=g) * 0.6 + 0.2
        extents = torch.rand(n, 2, generator=g) * 0.2 + 0.1
        labels = torch.randint(0, self.num_classes, (n,), generator=g)
        for (cx, cy), (w, h), label in zip(centers.tolist(), extents.tolist(), labels.tolist()):
            x0, x1 = int((cx - w / 2) * self.size), int((cx + w / 2) * self.size) + 1
            y0, y1 = int((cy - h / 2) * self.size), int((cy + h / 2) * self.size) + 1
            image[label % 3, y0:y1, x0:x1] += 1.0 + 0.5 * (label // 3)
        return image, {"boxes": torch.cat([centers, extents], dim=1), "labels": labels}


def collate(samples):
    images, targets = zip(*samples)
    return torch.stack(images), list(targets)
