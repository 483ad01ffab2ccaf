"""Which volumes of the parish registers are read by which process, and their entries."""

import logging
import zlib

import torch
from torch.utils.data import Dataset

logger = logging.getLogger("registers")

FIELDS = 24
KINDS = 5


def catalogue(parishes):
    """The volumes on the shelf: parish, first year, and whether the hand is legible at all."""
    volumes = []
    for parish in parishes:
        for number in range(4):
            year = 1690 + 25 * number
            water = parish == "Saltby" or (number == 3 and zlib.crc32(parish.encode()) % 4 == 0)
            volumes.append({"parish": parish, "year": year, "legible": not water})
    return volumes


def share(volumes, rank, world_size):
    """The process' volumes: a parish stays together, so that one process knows all of its hands."""
    parishes = list(dict.fromkeys(volume["parish"] for volume in volumes))
    own = set(parishes[rank::world_size])
    chosen = [v for v in volumes if v["parish"] in own and v["legible"]]
    logger.info("rank %d: %d volumes of %s", rank, len(chosen), ", ".join(sorted(own)))
    return chosen


class Entries(Dataset):
    def __init__(self, volumes, per_volume):
        self.volumes = volumes
        self.per_volume = per_volume
        self.marks = torch.randn(KINDS, FIELDS, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.volumes) * self.per_volume

    def __getitem__(self, i):
        volume = self.volumes[i // self.per_volume]
        seed = zlib.crc32(f"{volume['parish']}/{volume['year']}/{i % self.per_volume}".encode())
        g = torch.Generator().manual_seed(seed)
        kind = torch.randint(KINDS, (), generator=g)
        return {"fields": self.marks[kind] + torch.randn(FIELDS, generator=g), "labels": kind}
