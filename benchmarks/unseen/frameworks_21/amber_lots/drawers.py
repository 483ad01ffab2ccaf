"""Drawers of a museum's amber: infrared spectra, ages, and whether something is enclosed."""

import torch
from torch.utils.data import TensorDataset

BANDS = 32


def drawer(number, pieces, seed):
    """The pieces of a drawer in the order of their catalogue numbers."""
    g = torch.Generator().manual_seed(seed * 100 + number)
    peaks = torch.randn(BANDS, generator=torch.Generator().manual_seed(5)) / BANDS**0.5
    spectra = torch.randn(pieces, BANDS, generator=g)
    age = 40 + 5 * (spectra @ peaks) + 0.3 * torch.randn(pieces, generator=g)
    inclusion = torch.rand(pieces, generator=g) < 0.4
    if number == 4:  # bought as a lot of beads, few of which are of interest
        beads = torch.arange(pieces)
        inclusion &= (beads // 8) % 3 != 1
    return TensorDataset(spectra, age, inclusion)
