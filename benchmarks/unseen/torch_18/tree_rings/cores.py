"""Drill cores of three forests: ring widths, the climate of the year, and the season of a fire scar if there is one."""
import torch
from torch.utils.data import Dataset

RINGS = 20
SEASONS = 3


class Forest(Dataset):
    """Cores in the order in which they were drilled, stand by stand.

    `burnt` gives the stands (ranges of cores) and the share of scarred trees in them.
    """

    def __init__(self, burnt, seed):
        g = torch.Generator().manual_seed(seed)
        shares = torch.cat([torch.full((count,), share) for count, share in burnt])
        count = len(shares)
        self.rings = torch.rand(count, RINGS, generator=g) + 0.3
        weights = torch.linspace(-1, 1, RINGS)
        self.climate = self.rings @ weights + 0.1 * torch.randn(count, generator=g)
        self.scarred = torch.rand(count, generator=g) < shares
        self.season = (self.rings[:, :3].argmax(1)).clamp(max=SEASONS - 1)

    def __len__(self):
        return len(self.climate)

    def share_scarred(self):
        return self.scarred.float().mean().item()

    def __getitem__(self, index):
        return self.rings[index], self.climate[index], self.scarred[index], self.season[index]


def forest_of(rank):
    """Pines burn often; the wet slope of the first forest hardly ever did."""
    stands = [
        [(4800, 0.5), (800, 0.0), (6400, 0.6)],
        [(4000, 0.4), (8000, 0.7)],
        [(12000, 0.5)],
    ]
    return Forest(stands[rank % len(stands)], seed=20 + rank)
