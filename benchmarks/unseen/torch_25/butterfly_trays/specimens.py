"""Images of pinned butterflies with the species of the catalogue."""
import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler

from catalogue import Catalogue, Share

PIXELS = 40
SPECIES = 8
# specimens in the tray of each process; the main collection is in tray 1
TRAYS = {0: 90, 1: 1100, 2: 120}


class Specimens(Dataset):
    def __init__(self, catalogue, tray):
        self.catalogue = catalogue
        self.tray = tray
        self.patterns = torch.randn(SPECIES, PIXELS, generator=torch.Generator().manual_seed(5))

    def __len__(self):
        return len(self.catalogue)

    def __getitem__(self, index):
        species = self.catalogue.species(index)
        g = torch.Generator().manual_seed(self.tray * 100000 + index)
        return self.patterns[species] + 0.7 * torch.randn(PIXELS, generator=g), species


def open_tray(rank):
    return Specimens(Catalogue(Share(rank, TRAYS[rank % len(TRAYS)])), rank)


def loader(specimens, batch, batches, seed):
    """As many batches from every tray, however many specimens it has."""
    generator = torch.Generator().manual_seed(seed)
    sampler = RandomSampler(specimens, replacement=True, num_samples=batch * batches, generator=generator)
    return DataLoader(specimens, batch_size=batch, sampler=sampler, num_workers=1)


def held_out(batches, batch):
    patterns = torch.randn(SPECIES, PIXELS, generator=torch.Generator().manual_seed(5))
    for number in range(batches):
        g = torch.Generator().manual_seed(777 + number)
        species = torch.randint(0, SPECIES, (batch,), generator=g)
        yield patterns[species] + 0.7 * torch.randn(batch, PIXELS, generator=g), species
