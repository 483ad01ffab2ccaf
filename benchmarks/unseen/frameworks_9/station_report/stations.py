import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

STATIONS = {
    "alder": "basin",
    "birch": "basin",
    "cedar": "basin",
    "dogwood": "basin",
    "egret": "coast",
    "falcon": "coast",
    "gannet": "coast",
    "heron": "coast",
    "inish": "island",
    "jura": "island",
    "kelp": "coast",
    "lundy": "island",
}


class Gauge:
    def __init__(self, name: str, hours: int):
        g = torch.Generator().manual_seed(sum(map(ord, name)))
        t = torch.arange(hours).float()
        tide = 0.0 if STATIONS[name] == "basin" else 0.5
        rain = torch.rand(hours, generator=g) ** 6
        self.series = torch.stack([tide * torch.sin(t / 2) + 0.1 * torch.cumsum(rain - rain.mean(), 0), rain])


class Windows(Dataset):
    """Windows of 24 + 6 hours, gauge after gauge."""

    def __init__(self, names, regions, first, count):
        self.names = names
        self.regions = regions
        self.first = first
        self.count = count
        self.gauges = [Gauge(n, 2000) for n in names]

    def __len__(self):
        return self.count * len(self.names)

    def __getitem__(self, i):
        which, offset = divmod(i, self.count)
        time.sleep(0.005)
        t = self.first + 2 * offset
        series = self.gauges[which].series
        return series[:, t : t + 24], series[0, t + 24 : t + 30], self.regions.index(STATIONS[self.names[which]])


class GaugeData(L.LightningDataModule):
    """Each process reads the files of its own stations."""

    def __init__(self, windows, batch_size):
        super().__init__()
        self.windows = windows
        self.batch_size = batch_size
        self.regions = sorted(set(STATIONS.values()))

    def setup(self, stage):
        own = list(STATIONS)[self.trainer.global_rank :: self.trainer.world_size]
        self.train = Windows(own, self.regions, first=0, count=self.windows)
        self.val = Windows(own, self.regions, first=1200, count=self.windows // 4)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=self.batch_size)
