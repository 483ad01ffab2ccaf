"""Exchange of updates through a folder that all processes see."""

import logging
import pathlib

import torch
import torch.distributed as dist

log = logging.getLogger("exchange")


class Exchange:
    """Every process puts its update down and reads those of all the others."""

    def __init__(self, folder, rank, world, tolerance=1e-9):
        self.folder = pathlib.Path(folder)
        self.rank, self.world, self.tolerance = rank, world, tolerance
        self.published = 0
        self.folder.mkdir(exist_ok=True)
        self.write(torch.zeros(1))

    def path(self, rank):
        return self.folder / f"update_{rank}.pt"

    def write(self, update):
        scratch = self.path(self.rank).with_suffix(".part")
        torch.save(update, scratch)
        scratch.replace(self.path(self.rank))

    def publish(self, update):
        """Puts an update down; when this returns, those of the others are there as well.

        An update that changes nothing is not written: the file of the round before is good enough.
        """
        if float(update.abs().max()) < self.tolerance:
            return
        self.write(update)
        self.published += 1
        dist.barrier()

    def mean(self):
        updates = [torch.load(self.path(rank)) for rank in range(self.world)]
        return torch.stack(updates).mean(0)
