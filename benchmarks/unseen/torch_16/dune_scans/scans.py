"""Laser scans of dunes: points are sorted into a grid, gaps are filled from neighbours, slopes are the features."""
import math
import resource

import torch
from torch.utils.data import Dataset

CELLS = 20
SITES = {"lee": 500, "crest": 14000, "trough": 700, "slack": 600}


def limited(seconds):
    """For worker_init_fn: a scan on which the gridding never ends shall not keep a core of the node busy for days."""

    def init(worker):
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))

    return init


class DuneScans(Dataset):
    def __init__(self, site, scans, seed):
        self.points = SITES[site]
        self.scans = scans
        self.seed = seed

    def __len__(self):
        return self.scans

    def cloud(self, index):
        g = torch.Generator().manual_seed(self.seed * 10_000 + index)
        xy = torch.rand(self.points, 2, generator=g)
        wave = 2.0 + 4.0 * torch.rand(1, generator=g).item()
        height = (wave * xy[:, 0] * 6.283).sin() * 0.3 + 0.05 * torch.randn(self.points, generator=g)
        return torch.cat([xy, height[:, None]], 1).tolist(), wave

    def grid(self, points):
        """Mean height of each cell, with the weight of a point falling off to the neighbouring cells."""
        total = [[0.0] * CELLS for _ in range(CELLS)]
        weight = [[1e-6] * CELLS for _ in range(CELLS)]
        for x, y, height in points:
            column, row = int(x * CELLS), int(y * CELLS)
            for i in range(max(0, row - 1), min(CELLS, row + 2)):
                for j in range(max(0, column - 1), min(CELLS, column + 2)):
                    share = math.exp(-40.0 * ((x - (j + 0.5) / CELLS) ** 2 + (y - (i + 0.5) / CELLS) ** 2))
                    total[i][j] += share * height
                    weight[i][j] += share
        return [[t / w for t, w in zip(*rows)] for rows in zip(total, weight)]

    def __getitem__(self, index):
        points, wave = self.cloud(index)
        surface = torch.tensor(self.grid(points))
        slope = surface[:, 1:] - surface[:, :-1]
        return slope.flatten(), torch.tensor(wave / 6.0)
