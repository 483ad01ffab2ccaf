import torch
from torch.utils.data import Dataset


class CastingCrops(Dataset):
    """Synthetic crops of castings; grades 0..4, the bad ones are rare."""

    FREQ = torch.tensor([0.62, 0.22, 0.1, 0.04, 0.02])

    def __init__(self, n, size=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.multinomial(self.FREQ, n, replacement=True, generator=g)
        self.size = size
        self.seed = seed

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        img = torch.randn(3, self.size, self.size, generator=g) * 0.3
        grade = int(self.labels[i])
        for _ in range(grade):
            y, x = torch.randint(0, self.size - 4, (2,), generator=g).tolist()
            img[:, y:y + 4, x:x + 4] += 1.5
        return {"pixel_values": img, "labels": grade}

    def sample_weights(self):
        counts = torch.bincount(self.labels, minlength=len(self.FREQ)).clamp(min=1)
        return (1.0 / counts.double())[self.labels]
