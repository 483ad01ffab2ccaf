"""Images of postcodes, as the cameras over the sorting lines take them."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

PIXELS = 64
DISTRICTS = 10


class SortingLine(Dataset):
    """All letters that one line saw in a shift, in the order in which they passed.

    The lamp of a camera is switched off while its line is cleaned.
    """

    def __init__(self, line, letters, cleaning):
        self.line, self.letters = line, letters
        self.cleaning = cleaning
        self.jitter = random.Random(line)
        generator = torch.Generator().manual_seed(5)
        self.templates = torch.rand(DISTRICTS, PIXELS, generator=generator)

    def __len__(self):
        return self.letters

    def __getitem__(self, index):
        time.sleep(0.005 + 0.003 * self.jitter.random())
        generator = torch.Generator().manual_seed(100_000 * self.line + index)
        district = int(torch.randint(0, DISTRICTS, (1,), generator=generator))
        image = self.templates[district] + 0.2 * torch.rand(PIXELS, generator=generator)
        if index in self.cleaning.get(self.line, ()):
            image = 0.01 * image
        return image, district


def shift_loader(line, batch_size, batches):
    cleaning = {2: range(125 * batch_size, 126 * batch_size)}
    dataset = SortingLine(line, batch_size * batches, cleaning)
    return DataLoader(dataset, batch_size=batch_size, drop_last=True)
