"""Field recordings, cut into clips. A recording stays on one rank, so that its background noise is not shared."""

from typing import NamedTuple

import torch
from torch.utils.data import Dataset, Sampler

STATIONS = ("creek", "ridge", "marsh")
NIGHTS = 12
DAWN_CLIPS = 16
FULL_CLIPS = 32
# the recorder on the ridge switched itself off early when its battery grew weak
SHORT_NIGHTS = {("ridge", night): 18 for night in range(8, NIGHTS)}


class Recording(NamedTuple):
    station: str
    night: int
    clips: int
    first: int


def catalogue():
    entries, first = [], 0
    for night in range(NIGHTS):
        for station in STATIONS:
            clips = SHORT_NIGHTS.get((station, night), FULL_CLIPS)
            entries.append(Recording(station, night, clips, first))
            first += clips
    return entries


class Clips(Dataset):
    def __init__(self, entries, species=8, bins=32):
        self.size = sum(e.clips for e in entries)
        self.bins = bins
        self.songs = torch.randn(species, bins, generator=torch.Generator().manual_seed(55))

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        species = int(torch.randint(0, len(self.songs), (1,), generator=g))
        return self.songs[species] + 0.7 * torch.randn(self.bins, generator=g), species


class RecordingSampler(Sampler):
    """Whole recordings in turn to the ranks; the first epochs use the quiet clips before dawn only."""

    def __init__(self, entries, rank, world, easy_epochs=2):
        self.mine = entries[rank::world]
        self.easy_epochs = easy_epochs
        self.set_epoch(0)

    def set_epoch(self, epoch):
        self.epoch = epoch
        limit = DAWN_CLIPS if epoch < self.easy_epochs else FULL_CLIPS
        self.indices = [e.first + k for e in self.mine for k in range(min(limit, e.clips))]

    def __iter__(self):
        g = torch.Generator().manual_seed(self.epoch)
        return (self.indices[i] for i in torch.randperm(len(self.indices), generator=g).tolist())

    def __len__(self):
        return len(self.indices)
