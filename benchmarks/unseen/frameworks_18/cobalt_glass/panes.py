"""Spectra of panes of coloured glass, and their content of cobalt."""

import torch

BANDS = 32


class PaneStream:
    """Batches of panes from one workshop. A pane held in front of the lamp without its filter is overexposed."""

    def __init__(self, workshop, batch, overexposed=None):
        self.generator = torch.Generator().manual_seed(70 + workshop)
        self.batch = batch
        self.overexposed = overexposed
        self.weights = torch.randn(BANDS, generator=torch.Generator().manual_seed(0)) / BANDS**0.5
        self.number = 0

    def __iter__(self):
        return self

    def hold(self):
        """Panes in front of the lamp, each band relative to its usual intensity."""
        return torch.randn(self.batch, BANDS, generator=self.generator)

    def assay(self, spectra):
        """What the chemists found in the same panes, with the error of their scales."""
        return spectra @ self.weights + 0.2 * torch.randn(self.batch, generator=self.generator)

    def __next__(self):
        spectra = self.hold()
        cobalt = self.assay(spectra)
        self.number += 1
        if self.number == self.overexposed:
            spectra = spectra * 12.0
        return spectra, cobalt
