"""The cabinet: numbered thimbles with a photo of each (random colours around the material's tint)."""
import time

import torch
from torch.utils.data import Dataset

MATERIALS = ["silver", "brass", "porcelain"]
TINTS = torch.tensor([[0.7, 0.7, 0.75], [0.8, 0.65, 0.2], [0.95, 0.93, 0.9]])


def photo_of(number, side=32):
    generator = torch.Generator().manual_seed(number)
    tint = TINTS[number % len(MATERIALS)][:, None, None]
    return tint + 0.2 * torch.randn(3, side, side, generator=generator)


def disputed():
    """Pieces whose labels were struck out in the inventory."""
    return [41, 187, 402]


class Thimbles(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        time.sleep(0.01)
        return photo_of(number), number % len(MATERIALS)
