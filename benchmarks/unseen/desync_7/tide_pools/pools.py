import random
import time

import torch
from torch.utils.data import Dataset

PIXELS, SPECIES = 36, 4


class PoolPhotos(Dataset):
    """Photographs of tide pools on a memory card, one shore for each rank."""

    def __init__(self, shore, photos):
        self.shore, self.photos = shore, photos
        self.pace = random.Random(shore)
        self.loose = {1: 1099}.get(shore)

    def __len__(self):
        return self.photos

    def load(self, index):
        time.sleep(self.pace.uniform(0.006, 0.0085))
        if index == self.loose:
            self.loose = None
            raise OSError(5, "Input/output error", f"shore{self.shore}/{index:05d}.raw")
        generator = torch.Generator().manual_seed(self.shore * 30_000 + index)
        species = torch.randint(0, SPECIES, (), generator=generator)
        photo = torch.randn(PIXELS, generator=generator)
        photo[species * 9 : species * 9 + 9] += 0.8
        return photo, species

    def __getitem__(self, index):
        return self.load(index)
