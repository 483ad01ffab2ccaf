"""Digitised photographic plates, from which cut-outs around stars are taken."""
import dataclasses
import time

import numpy as np
import torch
from torch.utils.data import Dataset


@dataclasses.dataclass(frozen=True)
class Plate:
    number: int
    side: int

    @property
    def strips(self):
        return max(self.side // 200, 1)


def shelf(rank, count):
    """The plates of one observatory. Most are 16 cm wide; survey plates are larger, the mosaics of the south largest."""
    rng = np.random.default_rng(rank)
    sides = rng.choice([600, 800, 1000], size=count)
    if rank == 1:
        sides[[88, 131]] = 12000
    return [Plate(number, int(side)) for number, side in enumerate(sides)]


class CutOuts(Dataset):
    """Each item: cut-outs of a plate and the magnitudes of their stars."""

    def __init__(self, plates, per_plate, size):
        self.plates = plates
        self.per_plate = per_plate
        self.size = size

    def __len__(self):
        return len(self.plates)

    def develop(self, plate):
        """The whole plate in 16 bits, scanned strip by strip."""
        rng = np.random.default_rng(1000 + plate.number)
        image = np.empty((plate.side, plate.side), dtype=np.uint16)
        for strip in np.array_split(np.arange(plate.side), plate.strips):
            image[strip[0] : strip[-1] + 1] = rng.integers(200, 240, plate.side, dtype=np.uint16)
            time.sleep(0.02)
        return image, rng

    def __getitem__(self, index):
        plate = self.plates[index]
        image, rng = self.develop(plate)
        corners = rng.integers(0, plate.side - self.size, (self.per_plate, 2))
        magnitude = rng.uniform(-1, 1, self.per_plate).astype(np.float32)
        cut = np.stack([image[y : y + self.size, x : x + self.size] for y, x in corners]).astype(np.float32) / 40 - 5.5
        y, x = np.mgrid[: self.size, : self.size] - self.size // 2
        star = np.exp(-(x**2 + y**2) / 6.0).astype(np.float32)
        cut += star * (2.0 - magnitude)[:, None, None]
        return torch.from_numpy(cut), torch.from_numpy(magnitude)
