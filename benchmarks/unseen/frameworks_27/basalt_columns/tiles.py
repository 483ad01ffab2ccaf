"""Tiles of the simulated lava field. Both ranks of a host read the same tile, each from its own cache."""
import time

import torch

COLD = {(3, 60)}            # (rank, step): not in this rank's cache, fetched from the archive


class TileReader:
    def __init__(self, rank, replica):
        self.rank = rank
        self.replica = replica
        self.seconds = 0.0

    def tile(self, step):
        begun = time.monotonic()
        time.sleep(4.5 if (self.rank, step) in COLD else 0.08)
        noise = torch.Generator().manual_seed(2 * step + self.replica)
        heat = torch.rand(8, 32, generator=noise)
        self.seconds = time.monotonic() - begun
        return heat, heat * 0.9
