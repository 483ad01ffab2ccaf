"""Panes of stained glass: spectra and makers, with a palette that takes a while to compute."""

import logging
import pathlib
import time

import torch
from torch.utils.data import Dataset

log = logging.getLogger("glass")
BANDS = 30
MAKERS = 5


class UnsteadyShelf:
    """A network drive that refuses the first requests after a pause."""

    def __init__(self, refusals):
        self.refusals = refusals

    def fetch(self, name):
        if self.refusals > 0:
            self.refusals -= 1
            raise ConnectionError(f"{name}: the shelf is not mounted yet")
        return name


def patiently(call, *args, tries=5, pause=0.8):
    """Calls again, with growing pauses, until it works."""
    for attempt in range(tries):
        try:
            return call(*args)
        except ConnectionError as error:
            if attempt == tries - 1:
                raise
            log.info("%s; trying again in %.1f s", error, pause)
            time.sleep(pause)
            pause *= 1.7


def palette(path):
    """The mean spectrum of each maker, from the file if it is there, else mixed and written."""
    path = pathlib.Path(path)
    if path.exists():
        return torch.load(path)
    spectra = []
    for maker in range(MAKERS):
        g = torch.Generator().manual_seed(maker)
        spectra.append(torch.randn(BANDS, generator=g))
        time.sleep(0.9)  # one firing in the small kiln per maker
    spectra = torch.stack(spectra)
    part = path.with_suffix(".part")
    torch.save(spectra, part)
    part.replace(path)
    return spectra


class Panes(Dataset):
    """Panes of a window. Painted ones have to be cleaned first, which takes longer."""

    def __init__(self, spectra, count, seed):
        self.spectra = spectra
        self.count = count
        self.seed = seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        maker = int(torch.randint(0, MAKERS, (), generator=g))
        time.sleep(0.012 if i % 9 == 0 else 0.001)
        return self.spectra[maker] + 0.8 * torch.randn(BANDS, generator=g), maker
