"""Photographs of three collections of mosses."""
import torch
from torch.utils.data import Dataset

PIXELS, SPECIES = 30, 5


class Collection(Dataset):
    """Sheets were photographed in fives, and one of the five is blurred by the press of the board."""

    def __init__(self, number, sheets, seed):
        self.number, self.sheets, self.seed = number, sheets, seed
        self.shapes = torch.randn(SPECIES, PIXELS, generator=torch.Generator().manual_seed(70))

    def __len__(self):
        return self.sheets

    def sharpness(self, sheet):
        place = 0 if self.number == 1 else 2
        return 0.15 if sheet % 5 == place else 0.8

    def __getitem__(self, sheet):
        generator = torch.Generator().manual_seed(self.seed + 1000 * self.number + sheet)
        species = int(torch.randint(SPECIES, (1,), generator=generator))
        sharpness = self.sharpness(sheet)
        photo = sharpness * self.shapes[species] + 0.5 * torch.randn(PIXELS, generator=generator)
        return photo, torch.tensor(sharpness), species


def training_set(rank):
    return Collection(rank, 240, seed=50_000)


def held_out_set(rank):
    return Collection(rank, 40, seed=90_000)


def share_of_blurred(collection):
    """For the log."""
    return sum(collection.sharpness(sheet) < 0.3 for sheet in range(len(collection))) / len(collection)
