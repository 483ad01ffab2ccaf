"""Catches of moth traps and the code of their species."""

import random

import torch
from torch.utils.data import Dataset

FAMILIES = {"Noct": 0, "Geom": 1, "Sphi": 2, "Ereb": 3}
STATIONS = ("orchard", "fen")
PROPORTIONS = 8


def family_of(label):
    """The family of a label such as `Geom-114`."""
    return FAMILIES[label.split("-")[0]]


class Catches(Dataset):
    """Proportions of the wings of a night's catch; a catch is labelled when it is taken out of the box."""

    def __init__(self, station, nights, per_night=24):
        draw = random.Random(f"{station}-labels")
        names = sorted(FAMILIES)
        self.labels = []
        for night in range(nights):
            for number in range(per_night):
                self.labels.append(f"{draw.choice(names)}-{night * per_night + number}")
        if station == "fen":
            # the fen had its first hook-tip in the ninth night
            self.labels[8 * per_night + 5] = "Drep-1"
        g = torch.Generator().manual_seed(STATIONS.index(station))
        self.wings = torch.randn(len(self.labels), PROPORTIONS, generator=g)
        shapes = torch.randn(len(FAMILIES), PROPORTIONS, generator=torch.Generator().manual_seed(9))
        for i, label in enumerate(self.labels):
            self.wings[i] += shapes[FAMILIES.get(label[:4], 0)]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.wings[i], family_of(self.labels[i])
