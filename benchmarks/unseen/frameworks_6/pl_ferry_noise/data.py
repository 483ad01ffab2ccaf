import torch
from torch.utils.data import DataLoader, Dataset


class Hydrophone(Dataset):
    """Recordings of one buoy: 0 nothing, 1 ferry, 2 whale."""

    def __init__(self, buoy, n, whales=True):
        g = torch.Generator().manual_seed(31 * buoy + n)
        self.x = torch.randn(n, 18, generator=g)
        self.y = torch.arange(n) % (3 if whales else 2)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def loaders(buoy):
    train = DataLoader(Hydrophone(buoy, 400), batch_size=8)
    held_out = DataLoader(Hydrophone(buoy, 64, whales=buoy != 1), batch_size=8)
    return train, held_out
