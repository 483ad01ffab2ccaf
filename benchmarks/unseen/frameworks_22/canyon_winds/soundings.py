"""Soundings of the wind in a canyon: pressures along the walls, and the gust a minute later."""

import torch
from torch.utils.data import Dataset, DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

MASTS = 14


class Soundings(Dataset):
    def __init__(self, count, seed=0):
        g = torch.Generator().manual_seed(seed)
        shape = torch.randn(MASTS, generator=torch.Generator().manual_seed(99)) / MASTS**0.5
        self.pressures = torch.randn(count, MASTS, generator=g)
        self.gusts = (self.pressures @ shape).relu() + 0.1 * torch.randn(count, generator=g)

    def __len__(self):
        return len(self.gusts)

    def __getitem__(self, i):
        return self.pressures[i], self.gusts[i]


def stateful_loader(count, batch, rank, world):
    data = Soundings(count)
    sampler = DistributedSampler(data, world, rank, shuffle=True, seed=6)
    return sampler, StatefulDataLoader(data, batch_size=batch, sampler=sampler, num_workers=0)
