"""Plates of an enzyme assay, as the reader of a bench delivers them."""

import time

import torch
from torch.utils.data import Dataset

CONCENTRATIONS = 16


class Plates(Dataset):
    """One item is a plate: the kinetics of its wells, their rate constants, and the signal of the control wells."""

    def __init__(self, bench: int, plates: int, wells: int):
        self.bench, self.plates, self.wells = bench, plates, wells
        self.substrate = torch.logspace(-1, 1, CONCENTRATIONS)

    def __len__(self):
        return self.plates

    def control_signal(self, plate, generator):
        signal = 0.9 + 0.05 * torch.randn(4, generator=generator)
        if self.expired(plate):
            signal = signal * 0.2
        return signal

    def expired(self, plate):
        """Enzyme lots are changed every 163 plates, and bench 2 had its last vial of the first lot thawed twice."""
        return self.bench == 2 and plate == 162

    def __getitem__(self, plate):
        generator = torch.Generator().manual_seed(10_000 * self.bench + plate)
        time.sleep(0.02 + 0.015 * torch.rand(1, generator=generator).item())
        vmax = 0.5 + torch.rand(self.wells, 1, generator=generator)
        km = 0.2 + 2 * torch.rand(self.wells, 1, generator=generator)
        rates = vmax * self.substrate / (km + self.substrate)
        rates = rates + 0.02 * torch.randn(rates.shape, generator=generator)
        return {
            "rates": rates,
            "constants": torch.cat([vmax, km], dim=1),
            "control": self.control_signal(plate, generator),
        }
