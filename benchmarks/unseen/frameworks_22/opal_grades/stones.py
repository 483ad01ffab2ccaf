"""Opals of three mines: colours under a lamp, a price, and whether the stone has a crack."""

import torch
from torch.utils.data import Dataset

MINES = ("Coober", "Andamooka", "Mintabie")
BANDS = 10


class Lot(Dataset):
    """The stones that a mine sends in for one sale."""

    def __init__(self, mine, sale, size, seed):
        g = torch.Generator().manual_seed(10_000 * seed + 100 * sale + mine)
        worth = torch.linspace(1, -1, BANDS)
        self.colours = torch.randn(size, BANDS, generator=g)
        self.prices = self.colours @ worth / BANDS**0.5 + 0.2 * torch.randn(size, generator=g)
        self.cracked = torch.zeros(size, dtype=torch.bool)
        self.cracked[:: self.spacing(mine, sale)] = True

    @staticmethod
    def spacing(mine, sale):
        """Every how many stones one is cracked. Mintabie's new saw is gentle."""
        return 15 if MINES[mine] == "Mintabie" and sale >= 4 else 5

    def __len__(self):
        return len(self.prices)

    def __getitem__(self, i):
        return self.colours[i], self.prices[i], self.cracked[i]
