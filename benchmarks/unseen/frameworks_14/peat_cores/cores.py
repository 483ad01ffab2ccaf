"""Pollen spectra along peat cores, in one flat file per laboratory."""

import numpy as np
import torch
from torch.utils.data import Dataset

CHANNELS = 1024  # float32, a row is one page of memory
KINDS = 5


def write_slices(path, count, laboratory):
    """The slices of one laboratory's cores: a spectrum each, the kind of vegetation in the first channel."""
    rng = np.random.default_rng(laboratory)
    templates = np.random.default_rng(99).normal(size=(KINDS, CHANNELS - 1)).astype(np.float32)
    kinds = rng.integers(KINDS, size=count)
    table = np.empty((count, CHANNELS), dtype=np.float32)
    table[:, 0] = kinds
    table[:, 1:] = templates[kinds] + 2 * rng.normal(size=(count, CHANNELS - 1))
    if laboratory == 2:
        table[rng.random(count) < 0.3, 1:] *= 40  # the lamp was changed, and nobody calibrated it again
    table.tofile(path)


class Slices(Dataset):
    """Draws from the table of slices; an epoch has `draws` of them, however long the table is."""

    def __init__(self, path, draws):
        self.path = path
        self.draws = draws
        self.reload()

    def reload(self):
        self.table = np.memmap(self.path, dtype=np.float32, mode="r").reshape(-1, CHANNELS)

    def __len__(self):
        return self.draws

    def __getitem__(self, i):
        row = (i * 7919) % len(self.table)
        spectrum = torch.tensor(self.table[row])
        return spectrum[1:], spectrum[0].long()


def overexposed(table, limit=20.0):
    """The rows whose spectrum spreads more than any peat does."""
    return np.asarray(table[:, 1:]).std(axis=1) > limit


def compact(path):
    """Writes the table anew without its overexposed rows, in place, and returns how many rows went."""
    table = np.fromfile(path, dtype=np.float32).reshape(-1, CHANNELS)
    bad = overexposed(table)
    if bad.any():
        with open(path, "r+b") as file:
            file.write(table[~bad].tobytes())
            file.truncate()
    return int(bad.sum())
