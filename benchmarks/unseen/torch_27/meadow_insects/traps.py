import time

import torch
from torch.utils.data import Dataset

SIZE = 12


class TrapPhotos(Dataset):
    """Cut-outs of a light trap's nightly photo."""

    def __init__(self, table, seed):
        self.table = table
        self.seed = seed

    def __len__(self):
        return len(self.table.rows)

    def __getitem__(self, insect):
        time.sleep(0.02)                   # decoding
        random = torch.Generator().manual_seed(self.seed * 1000 + insect)
        kind = self.table.label(insect)
        photo = torch.randn(3, SIZE, SIZE, generator=random)
        photo[:, kind * 2:kind * 2 + 2] += 1.0
        return photo, kind
