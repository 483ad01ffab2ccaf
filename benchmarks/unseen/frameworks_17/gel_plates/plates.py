"""Photographs of gel plates. A plate is photographed several times, each with another filter."""

import torch

PIXELS = 36
PHOTOGRAPHS = 40


def filters_of(rank, plate):
    """Four filters to a plate; the third laboratory has an eight-filter wheel for its largest one."""
    return 8 if rank == 2 and plate == 5 else 4


class Wheel:
    """Photographs of a laboratory, and whether each is the last one of its plate."""

    def __init__(self, rank, night, batch):
        self.rank = rank
        self.night = night
        self.batch = batch
        self.direction = torch.randn(PIXELS, generator=torch.Generator().manual_seed(0)) / PIXELS**0.5

    def __len__(self):
        return PHOTOGRAPHS

    def __iter__(self):
        g = torch.Generator().manual_seed(100 * self.night + self.rank)
        plate, taken = 0, 0
        for _ in range(PHOTOGRAPHS):
            taken += 1
            last = taken == (filters_of(self.rank, plate) if self.night == 2 else 4)
            lanes = torch.randn(self.batch, PIXELS, generator=g)
            amount = lanes @ self.direction + 0.1 * torch.randn(self.batch, generator=g)
            yield lanes, amount, last
            if last:
                plate, taken = plate + 1, 0
