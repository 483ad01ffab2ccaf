"""Rides of buses: who gets on where. A batch is a ride, and rides differ in their number of stops."""

import time

import torch
from torch.utils.data import DataLoader, Dataset

WIDTH = 8


class Rides(Dataset):
    def __init__(self, line, rides):
        self.line, self.rides = line, rides

    def __len__(self):
        return self.rides

    def stops(self, ride):
        night = self.line == 1 and 200 <= ride < 230
        return 6 + (5 * ride + 3 * self.line) % 9 + (30 if night else 0)

    def __getitem__(self, ride):
        time.sleep(0.03 + 0.02 * torch.rand(1).item())
        generator = torch.Generator().manual_seed(self.line * 30_011 + ride)
        stops = torch.randn(self.stops(ride), WIDTH, generator=generator)
        return stops, stops[:, 0].abs() + 0.1 * torch.randn(len(stops), generator=generator)


def rides_of(line, rides):
    return DataLoader(Rides(line, rides), batch_size=None)
