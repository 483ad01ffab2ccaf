"""Crops of aerial photos with boxes; three cameras, one for each process."""

import torch
from torch.utils.data import Dataset

MOST_BOXES = 4


class Crops(Dataset):
    def __init__(self, camera, batches, batch_size):
        self.camera = camera
        self.count = batches * batch_size
        self.hazy = set(range(210 * batch_size, 211 * batch_size)) if camera == 0 else set()

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(self.camera * 1_000_003 + index)
        crop = torch.randn(3, 8, 8, generator=g)
        boxes = torch.rand(MOST_BOXES, 4, generator=g)
        number = 0 if index in self.hazy else int(torch.randint(1, MOST_BOXES + 1, (), generator=g))
        return crop, boxes, torch.arange(MOST_BOXES) < number
