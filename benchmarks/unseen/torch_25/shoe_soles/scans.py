"""Scans of shoe soles from a conveyor: sixteen per tray, some of them without a sole."""
from dataclasses import dataclass

import torch

SIDE = 12
BRANDS = 6


@dataclass
class Tray:
    scans: torch.Tensor
    brands: torch.Tensor


class Conveyor:
    """Trays in the order in which they come; a scan without a sole is black."""

    def __init__(self, trays, per_tray, seed):
        self.trays = trays
        self.per_tray = per_tray
        self.seed = seed
        g = torch.Generator().manual_seed(seed)
        self.patterns = torch.randn(BRANDS, SIDE * SIDE, generator=g)

    def empty_places(self, number, g):
        """Up to three places of a tray stay empty, and more when a size is sold out."""
        places = int(torch.randint(0, 4, (1,), generator=g))
        if number % 90 == 84:
            places += 4
        return torch.randperm(self.per_tray, generator=g)[:places]

    def tray(self, number):
        g = torch.Generator().manual_seed(self.seed * 10000 + number)
        brands = torch.randint(0, BRANDS, (self.per_tray,), generator=g)
        scans = self.patterns[brands] + 0.8 * torch.randn(self.per_tray, SIDE * SIDE, generator=g)
        scans[self.empty_places(number, g)] = 0.0
        return Tray(scans, brands)

    def __iter__(self):
        for number in range(self.trays):
            yield self.tray(number)

    def __len__(self):
        return self.trays
