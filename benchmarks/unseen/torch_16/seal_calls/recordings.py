"""Calls of seals under the ice: short spectra, some of them labelled by a listener."""
import dataclasses

import torch

SPECTRUM, KINDS = 32, 5


@dataclasses.dataclass
class Batch:
    spectra: torch.Tensor
    kinds: torch.Tensor
    labelled: torch.Tensor


class Station:
    """One hydrophone. The listener works through the seasons and gets to some hours only."""

    def __init__(self, number, batches=24, size=24):
        self.number = number
        self.batches = batches
        self.size = size

    def unheard(self, season):
        """Hours of the season for which there are no labels yet."""
        backlog = {2: {1: (5, 6), 2: (3, 4, 11), 3: (8,)}}
        return backlog.get(self.number, {}).get(season, ())

    def season(self, season):
        g = torch.Generator().manual_seed(1000 * season + self.number)
        tone = torch.linspace(0, 3.14, SPECTRUM)
        missing = self.unheard(season)
        for hour in range(self.batches):
            kinds = torch.randint(0, KINDS, (self.size,), generator=g)
            spectra = torch.sin(tone * (kinds[:, None] + 1)) + 0.4 * torch.randn(self.size, SPECTRUM, generator=g)
            labelled = torch.rand(self.size, generator=g) < 0.6
            labelled[0] = True
            if hour in missing:
                labelled[:] = False
            yield Batch(spectra, kinds, labelled)
