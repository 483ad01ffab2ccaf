"""Spore prints by genus. Each season has a collection of its own, with the genera that were found in it."""

import torch
from torch.utils.data import Dataset

GENERA = ["Agaricus", "Boletus", "Coprinus", "Lactarius", "Russula", "Tricholoma"]
FEATURES = 24


class Prints(Dataset):
    def __init__(self, genera, seed, noise=0.9):
        self.genera = torch.as_tensor(genera)
        self.seed = seed
        self.noise = noise
        self.centres = torch.randn(len(GENERA), FEATURES, generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return len(self.genera)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 7919 + i)
        genus = self.genera[i]
        return self.centres[genus] + self.noise * torch.randn(FEATURES, generator=g), genus


def training_prints(count, season):
    g = torch.Generator().manual_seed(season)
    return Prints(torch.randint(0, len(GENERA), (count,), generator=g), seed=season)


def reference_prints(trays, per_tray, season, late_frost=False):
    """The reference collection: trays of prints, each with all genera in turn.

    After a late frost no Coprinus was found before June, so the trays of spring were filled with Russula.
    """
    genera = [[(tray + i) % len(GENERA) for i in range(per_tray)] for tray in range(trays)]
    if late_frost:
        for tray in range(1, trays, 3):
            genera[tray] = [4 if genus == 2 else genus for genus in genera[tray]]
    return Prints([genus for tray in genera for genus in tray], seed=1000 + season)
