"""Fittings of hearing aids: the audiogram of an ear and the gains that the audiologist chose for it."""

import time

import torch
from torch.utils.data import DataLoader, Dataset

BANDS = 8
SIDES = ("left", "right")


class Fittings(Dataset):
    """The fittings of one clinic. Most patients have two aids, some have one."""

    def __init__(self, clinic, patients):
        self.clinic, self.patients = clinic, patients

    def __len__(self):
        return self.patients

    def ears(self, patient):
        # The second clinic held a day for a trial of aids for the right ear only.
        if self.clinic == 1 and 1680 <= patient < 1692:
            return ("right",)
        return SIDES if (patient + self.clinic) % 4 else (SIDES[patient // 4 % 2],)

    def __getitem__(self, patient):
        generator = torch.Generator().manual_seed(7919 * self.clinic + patient)
        fitting = {}
        for side in self.ears(patient):
            audiogram = 20 + 50 * torch.rand(BANDS, generator=generator).sort().values
            gains = 0.46 * audiogram + 2 * torch.randn(BANDS, generator=generator)
            fitting[side] = (audiogram / 50, gains / 20)
        return fitting


def by_side(fittings):
    time.sleep(0.04 + 0.02 * torch.rand(1).item())
    batch = {}
    for side in SIDES:
        ears = [fitting[side] for fitting in fittings if side in fitting]
        audiograms = torch.stack([ear[0] for ear in ears]) if ears else torch.empty(0, BANDS)
        gains = torch.stack([ear[1] for ear in ears]) if ears else torch.empty(0, BANDS)
        batch[side] = (audiograms, gains)
    return batch


def fittings_of(clinic, patients, batch_size):
    return DataLoader(Fittings(clinic, patients), batch_size=batch_size, collate_fn=by_side)
