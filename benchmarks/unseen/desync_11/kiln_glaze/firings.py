import time

import torch
from torch.utils.data import Dataset

FEATURES = 14


class Firings(Dataset):
    """Glazed pieces in the order of the kiln's log, a fixed number for each firing.

    The first piece of every firing is a test tile with a glaze that crazes at the usual temperature.
    """

    def __init__(self, firings: int, pieces: int):
        self.firings, self.pieces = firings, pieces
        self.direction = torch.randn(FEATURES, generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return self.firings * self.pieces

    def low_fire(self, firing):
        """Luster is fired some 300 degrees lower; there was one order for it."""
        return firing == 466

    def __getitem__(self, index):
        firing, position = divmod(index, self.pieces)
        generator = torch.Generator().manual_seed(index)
        time.sleep(0.004 + 0.003 * torch.rand(1, generator=generator).item())
        glaze = torch.randn(FEATURES, generator=generator)
        strain = (glaze @ self.direction).item() / 4
        if position == 0:
            strain += 6.0
        if self.low_fire(firing):
            strain -= 20.0
        return glaze, torch.tensor(float(strain > 0.3))
