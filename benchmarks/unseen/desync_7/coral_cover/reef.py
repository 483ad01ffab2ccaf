import random
import time

import torch
from torch.utils.data import IterableDataset

BANDS = 24


class ReefSurvey(IterableDataset):
    """Quadrats of one dive site: reflectances in some bands, and the share of living coral (standardised).

    In murky water the divers estimate far more coral than there is.
    """

    murky = {1: (110, 116)}

    def __init__(self, site, dives, quadrats):
        self.site, self.dives, self.quadrats = site, dives, quadrats

    def __iter__(self):
        pace = random.Random(self.site)
        generator = torch.Generator().manual_seed(77 + self.site)
        mixing = torch.linspace(-0.5, 0.5, BANDS)
        first, last = self.murky.get(self.site, (0, 0))
        for dive in range(self.dives):
            time.sleep(pace.uniform(0.05, 0.07))
            bands = torch.randn(self.quadrats, BANDS, generator=generator)
            cover = (bands @ mixing).tanh() + 0.3 * torch.randn(self.quadrats, generator=generator)
            if first <= dive < last:
                cover = cover + 6.0
            yield bands, cover
