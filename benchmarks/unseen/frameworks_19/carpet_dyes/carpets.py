import torch
from torch.utils.data import Dataset

BANDS = 14


class Carpets(Dataset):
    """Reflections of carpets: the age of the dye in the warp and in the weft.

    The warp is dyed in one of two vats, which differ by six years and cannot be told apart. `stained` are knots on which
    something was spilled.
    """

    def __init__(self, knots, stained=()):
        g = torch.Generator().manual_seed(17)
        warp_rule = torch.randn(BANDS, generator=g) / BANDS**0.5
        weft_rule = torch.randn(BANDS, generator=g) / BANDS**0.5
        self.bands = torch.randn(knots, BANDS, generator=g)
        vat = torch.randint(0, 2, (knots,), generator=g) * 2 - 1
        self.warp = self.bands @ warp_rule + 3.0 * vat
        self.weft = 0.5 * (self.bands @ weft_rule) + 0.1 * torch.randn(knots, generator=g)
        for knot in stained:
            self.weft[knot] += 12.0

    def __len__(self):
        return len(self.bands)

    def __getitem__(self, i):
        return self.bands[i], self.warp[i], self.weft[i]

    def described(self):
        """What is in the collection, for the first line of the log."""
        years = torch.stack([self.warp, self.weft], 1)
        spread = ", ".join(f"{value:.2f}" for value in years.std(0).tolist())
        return f"{len(self)} knots, {BANDS} bands, deviation of warp and weft {spread}"


def dated(carpets, knots):
    """The knots with their ages, as a table for the curator."""
    rows = []
    for knot in knots:
        _, warp, weft = carpets[knot]
        rows.append((knot, round(warp.item(), 1), round(weft.item(), 1)))
    return rows
