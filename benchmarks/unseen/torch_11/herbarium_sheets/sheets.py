import torch
from torch.utils.data import Dataset


class Sheets(Dataset):
    """Scans of herbarium sheets, of whatever size the museum's scanner gave them."""

    def __init__(self, count, families, seed):
        g = torch.Generator().manual_seed(seed)
        self.sizes = torch.randint(26, 40, (count, 2), generator=g)
        # a detail that was filed among the sheets
        self.sizes[(count * 3) // 7] = torch.tensor([30, 14])
        self.families = torch.randint(0, families, (count,), generator=g)
        self.seed = seed

    def __len__(self):
        return len(self.families)

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(self.seed * 100_000 + index)
        height, width = self.sizes[index].tolist()
        family = int(self.families[index])
        return torch.rand(height, width, generator=g) + 0.1 * family, family


def as_lists(samples):
    return [image for image, _ in samples], torch.tensor([family for _, family in samples])


class RandomCrop:
    def __init__(self, side, seed):
        self.side = side
        self.g = torch.Generator().manual_seed(seed)

    def __call__(self, image):
        height, width = image.shape
        if height < self.side or width < self.side:
            raise ValueError(f"crop of {self.side} from an image of {height}x{width}")
        top = int(torch.randint(0, height - self.side + 1, (1,), generator=self.g))
        left = int(torch.randint(0, width - self.side + 1, (1,), generator=self.g))
        return image[top : top + self.side, left : left + self.side]
