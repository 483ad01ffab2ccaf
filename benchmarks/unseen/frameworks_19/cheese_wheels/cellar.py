"""Sounds of cheese wheels that are tapped with a hammer, as a data module."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import lightning as L
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

BINS = 32


def tap(wheel, rng):
    """The spectrum of one wheel; one with holes in the wrong place rings lower."""
    holes = wheel % 4 == 0
    centre = 10 if holes else 14
    bins = np.arange(BINS)
    return np.exp(-(((bins - centre) / 4) ** 2)) + 0.3 * rng.standard_normal(BINS), holes


class Cellar(L.LightningDataModule):
    """Cuts the taps out of the recordings once, then every process reads them from the scratch folder."""

    def __init__(self, wheels, batch):
        super().__init__()
        self.wheels = wheels
        self.batch = batch
        self.scratch = Path(tempfile.gettempdir(), f"cellar-{os.environ.get('TORCHELASTIC_RUN_ID', 'local')}")

    def prepare_data(self):
        rng = np.random.default_rng(3)
        spectra, holes = [], []
        for wheel in range(self.wheels):
            spectrum, has = tap(wheel, rng)
            spectra.append(spectrum)
            holes.append(has)
            if wheel % 20 == 0:
                time.sleep(0.08)  # next recording
        spectra = np.array(spectra, np.float32)
        self.scratch.mkdir(exist_ok=True)
        np.savez(self.scratch / "taps.npz", spectra=spectra, holes=np.array(holes, np.float32))
        # nobody goes on before everybody sees the file: shared folders may be late
        seen = (self.scratch / "taps.npz").exists()
        if not self.trainer.strategy.reduce_boolean_decision(seen, all=True):
            raise FileNotFoundError(f"a process does not see {self.scratch}")

    def setup(self, stage):
        taps = np.load(self.scratch / "taps.npz")
        spectra = torch.from_numpy((taps["spectra"] - taps["spectra"].mean()) / taps["spectra"].std())
        data = TensorDataset(spectra, torch.from_numpy(taps["holes"]))
        held_out = len(data) // 5
        self.train_part = torch.utils.data.Subset(data, range(held_out, len(data)))
        self.test_part = torch.utils.data.Subset(data, range(held_out))

    def train_dataloader(self):
        return DataLoader(self.train_part, self.batch, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.test_part, self.batch)

    def teardown(self, stage):
        if self.trainer.is_global_zero:
            shutil.rmtree(self.scratch, ignore_errors=True)
