"""Plates of moth wings: a binary picture of the veins, and the family that the collector has written on the label."""

import resource

import torch
from torch.utils.data import Dataset

FAMILIES = 6
SMALL = 28
POSTERS = {1201: 11000}  # width of plates that were scanned whole


class Plates(Dataset):
    """Features of plates: how often a line through the wing crosses veins, row by row, in bands."""

    def __init__(self, count, bands=14):
        self.count = count
        self.bands = bands

    def __len__(self):
        return self.count

    def scan(self, index):
        width = POSTERS.get(index, SMALL)
        g = torch.Generator().manual_seed(index)
        family = index * 7 % FAMILIES
        density = 40 + 25 * family
        return torch.randint(256, (width, width), generator=g, dtype=torch.uint8) < density, family

    def crossings(self, row):
        count, inside = 0, False
        for vein in row.tolist():
            if vein and not inside:
                count += 1
            inside = vein
        return count / len(row)

    def __getitem__(self, index):
        picture, family = self.scan(index)
        rows = torch.tensor([self.crossings(row) for row in picture])
        size = len(rows) // self.bands
        bands = rows[: size * self.bands].reshape(self.bands, size)
        return torch.cat([bands.mean(1), bands.std(1)]), family


def limit_worker(seconds):
    """A `worker_init_fn`: what a worker may use of the shared nodes, by the rules of the house."""

    def init(worker_id):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        torch.set_num_threads(1)

    return init
