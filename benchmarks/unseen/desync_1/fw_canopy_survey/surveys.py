"""Drone surveys of forest plots. A survey is a sequence of tiles with laser heights for the clear cells."""

import torch
from torch.utils.data import Dataset

CELLS = 24
BANDS = 10

# survey -> tiles [first, last) that the cloud mask removed
CLOUDS = {2: (96, 97), 5: (300, 302)}


class Surveys(Dataset):
    def __init__(self, count, tiles):
        self.count, self.tiles = count, tiles

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        gen = torch.Generator().manual_seed(600 + number)
        bands = torch.randn(self.tiles, CELLS, BANDS, generator=gen)
        slope = torch.linspace(-1, 1, BANDS)
        height = 12 + 4 * (bands @ slope) + torch.randn(self.tiles, CELLS, generator=gen)
        clear = torch.rand(self.tiles, CELLS, generator=gen) < 0.7
        clear[:, 0] = True
        first, last = CLOUDS.get(number, (0, 0))
        clear[first:last] = False
        return {"bands": bands, "height": height / 10, "clear": clear, "number": number}
