"""Load plans of ferries: mass on each place of the car deck, and the trim that was measured at the quay."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

ROWS, LANES = 8, 4


class LoadPlans(Dataset):
    """The voyages of one ferry; lanes are counted from port to starboard."""

    def __init__(self, ferry, voyages):
        self.ferry, self.voyages = ferry, voyages
        self.rng = random.Random(ferry * 31)

    def __len__(self):
        return self.voyages

    def masses(self, index):
        generator = torch.Generator().manual_seed(self.ferry * 50_000 + index)
        plan = 1.5 + 0.5 * torch.rand(ROWS, LANES, generator=generator)
        if self.ferry == 5 and 456 <= index < 460:
            # the circus moved to the island: elephants and caravans
            plan[:, 0] += 12
        return plan

    def __getitem__(self, index):
        time.sleep(0.014 + 0.008 * self.rng.random())
        plan = self.masses(index)
        arm = torch.linspace(-1, 1, ROWS)
        trim = (plan.sum(1) * arm).sum() / 10
        return plan, trim


def mirrored(plans):
    """The same load with port and starboard exchanged, which has the same trim."""
    return plans.flip(-1)


def heel(plans):
    """Moment about the longitudinal axis, per lane and row."""
    lever = torch.linspace(-1, 1, LANES)
    return (plans * lever).mean((1, 2))


def plans_loader(ferry, voyages, batch_size):
    return DataLoader(LoadPlans(ferry, voyages), batch_size=batch_size, shuffle=False, drop_last=True)
