"""Laser scans of tunnel rings: windows of intensity with the width of the widest crack."""
import torch
from torch.utils.data import Dataset

WINDOW = 32


class Section(Dataset):
    """One section of the tunnel as one carriage has scanned it.

    Where the carriage's prism was wet the scanner returns nothing, and the window is NaN throughout.
    """

    def __init__(self, section, carriage, rings, wet=()):
        g = torch.Generator().manual_seed(1000 * section + carriage)
        self.scan = torch.rand(rings, WINDOW, generator=g)
        steps = (self.scan[:, 1:] - self.scan[:, :-1]).abs()
        self.crack = steps.amax(1) + 0.05 * torch.randn(rings, generator=g)
        for ring in wet:
            self.scan[ring] = float("nan")

    def __len__(self):
        return len(self.scan)

    def __getitem__(self, ring):
        return self.scan[ring], self.crack[ring]


def collate(items):
    """Stack the windows that can be read; a wet prism must not get NaN into the weights."""
    items = [(scan, crack) for scan, crack in items if not scan.isnan().any()]
    scans, cracks = zip(*items)
    return torch.stack(scans), torch.stack(cracks)


# carriage -> section -> rings of the check run with a wet prism (from the log of the inspection)
WET_IN_CHECK = {1: {3: (17, 18, 19)}}


def training_section(section, carriage):
    return Section(section, carriage, rings=640)


def check_section(section, carriage):
    wet = WET_IN_CHECK.get(carriage, {}).get(section, ())
    return Section(100 + section, carriage, rings=48, wet=wet)
