import time

import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Gauges(Dataset):
    """Hourly levels of one river, cut into windows; a gauge that was off the air writes NaN."""

    def __init__(self, windows, hours, outages):
        generator = torch.Generator().manual_seed(77)
        self.levels = torch.rand(windows, hours, generator=generator).cumsum(1) / hours
        self.next = self.levels[:, -1:] + 0.1 * torch.rand(windows, 1, generator=generator)
        for window, start, end in outages:
            self.levels[window, start:end] = float("nan")

    def __len__(self):
        return len(self.levels)

    def __getitem__(self, index):
        time.sleep(0.009)
        return self.levels[index], self.next[index]


class Feed:
    def __init__(self, data, batch_size):
        self.sampler = DistributedSampler(data, shuffle=False, drop_last=True)
        self.loader = DataLoader(data, batch_size=batch_size, sampler=self.sampler, drop_last=True)

    def epoch(self, number):
        self.sampler.set_epoch(number)
        for levels, following in self.loader:
            if torch.isnan(levels).any():
                continue
            yield levels - levels.mean(1, keepdim=True), following - levels.mean(1, keepdim=True)
