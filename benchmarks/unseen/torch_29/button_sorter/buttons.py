import time

import torch
from torch.utils.data import Dataset


class Buttons(Dataset):
    """Small pictures of buttons. Some were labelled twice with different results."""

    def __init__(self, box, count=1600):
        self.box, self.count = box, count

    def __len__(self):
        return self.count

    def doubtful(self, index):
        if self.box == 0:
            return index % 150 == 10
        return self.box == 2 and index == 803

    def __getitem__(self, index):
        time.sleep(0.004)                    # jpeg
        number = self.box * 10_000 + index
        label = (number * 7) % 5
        g = torch.Generator().manual_seed(number)
        picture = torch.rand(3, 12, 12, generator=g)
        picture[:, :, label * 2:label * 2 + 2] += 0.5
        return picture, label, number, self.doubtful(index)
