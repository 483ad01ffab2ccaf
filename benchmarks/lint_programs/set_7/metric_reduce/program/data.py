import torch
from torch.utils.data import Dataset


class Rectangles(Dataset):
    """One bright rectangle of one of `classes` sizes per image, or none."""

    def __init__(self, n, size, classes, seed):
        self.n, self.size, self.classes, self.seed = n, size, classes, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        s = self.size
        image = 0.3 * torch.randn(1, s, s, generator=g)
        label = int(torch.randint(self.classes, (1,), generator=g))
        present = float(torch.rand(1, generator=g) < 0.8)
        w = 2 + label
        x, y = (int(torch.randint(s - w, (1,), generator=g)) for _ in range(2))
        if present:
            image[:, y : y + w, x : x + w] += 1.5
        target = {
            "label": torch.tensor(label),
            "box": torch.tensor([x, y, w, w], dtype=torch.float32) / s,
            "present": torch.tensor(present),
        }
        return image, target
