"""Currents and torques of six winches on the quay, a week at a time."""

import torch
from torch.utils.data import Dataset

WINCHES = 6
SENSORS = 12
JAMS = {4: (4, 3)}  # week: (winch, pull)


class Week(Dataset):
    """All pulls of a week, winch after winch."""

    def __init__(self, week, pulls, seed=0):
        g = torch.Generator().manual_seed(1000 * seed + week)
        law = torch.randn(SENSORS, generator=torch.Generator().manual_seed(7)) / SENSORS**0.5
        self.currents = torch.randn(WINCHES * pulls, SENSORS, generator=g)
        self.torques = self.currents @ law + 0.1 * torch.randn(WINCHES * pulls, generator=g)
        if seed and week in JAMS:
            winch, pull = JAMS[week]
            self.torques[winch * pulls + pull] = 25.0

    def __len__(self):
        return len(self.currents)

    def __getitem__(self, i):
        return self.currents[i], self.torques[i]
