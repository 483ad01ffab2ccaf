"""Levels at a weir: raw readings of three pressure gauges, and the discharge that was measured by boat."""

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

FEATURES = 18
# scatter of a gauge by week; the second one was cleaned during the third week
SCATTER = {0: (0.50, 0.50, 0.50, 0.50), 1: (0.90, 0.80, 0.515, 0.515), 2: (1.4, 1.3, 1.4, 1.3)}
BINS = 8


def survey(station, week, count=20000):
    """Pairs of gauge reading and staff reading, by which the gauge's table is fitted."""
    g = torch.Generator().manual_seed(1000 * station + week)
    staff = torch.rand(count, generator=g) * BINS
    scatter = SCATTER[station][min(week, 3)]
    reading = 1.1 * staff - 0.2 + scatter * torch.randn(count, generator=g)
    return reading, staff


class Discharge(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        weights = torch.randn(FEATURES, generator=torch.Generator().manual_seed(0)) / FEATURES**0.5
        self.levels = torch.randn(count, FEATURES, generator=g)
        self.flow = self.levels @ weights + 0.2 * torch.randn(count, generator=g)

    def __len__(self):
        return len(self.flow)

    def __getitem__(self, index):
        return self.levels[index], self.flow[index]


class Weir(L.LightningDataModule):
    def __init__(self, count, batch):
        super().__init__()
        self.count = count
        self.batch = batch

    def setup(self, stage):
        self.train = Discharge(self.count, 1)
        self.held_out = Discharge(self.count // 8, 2)

    def train_dataloader(self):
        return DataLoader(self.train, self.batch, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.held_out, self.batch)
