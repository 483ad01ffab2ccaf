"""Sediment in a row of connected basins: explicit diffusion, as many substeps as stability asks for."""
import math
import time

import torch

CELLS = 64


class Basin:
    def __init__(self, rank, halo):
        self.halo = halo
        random = torch.Generator().manual_seed(40 + rank)
        self.depth = torch.rand(CELLS, generator=random)
        self.mobility = torch.full((CELLS,), 0.9)
        self.inflow = torch.zeros(CELLS)
        # the last basin has the river's mouth; floods bring loose sand there
        self.floods = {70: 0.24} if rank == 3 else {}

    def weather(self, day):
        if day in self.floods:
            self.mobility[-6:] += self.floods[day]
        self.inflow = 0.02 * torch.rand(CELLS)

    def substeps(self):
        """Courant: mobility * dt must stay under one quarter."""
        return math.ceil(self.mobility.max().item() * 4)

    def advance(self):
        count = self.substeps()
        dt = 1.0 / count
        for _ in range(count):
            padded = self.halo.swap(self.depth)
            curve = padded[2:] - 2 * padded[1:-1] + padded[:-2]
            self.depth = self.depth + dt * (self.mobility * curve + self.inflow)
            time.sleep(0.02)
        return self.depth
