"""Parts of the survey on the local disk, unpacked before training."""
import logging
import os
import tempfile
import time

import torch

log = logging.getLogger("dunes")


class Survey:
    """A survey in parts along the coast; neighbouring parts overlap by some metres.

    Each process unpacks the part with its own number. To train near the end of it, it also needs the next part.
    """

    def __init__(self, rank, parts, run):
        self.rank, self.parts = rank, parts
        self.folder = os.path.join(tempfile.gettempdir(), f"dunes-{run}")
        os.makedirs(self.folder, exist_ok=True)

    def path(self, part):
        return os.path.join(self.folder, f"part-{part}.pt")

    def unpack(self, length=1200):
        generator = torch.Generator().manual_seed(20 + self.rank)
        slope = torch.randn(length, generator=generator).cumsum(0) / 30.0
        heights = slope.sin() + 0.05 * torch.randn(length, generator=generator)
        temporary = self.path(self.rank) + ".tmp"
        torch.save(heights, temporary)
        os.replace(temporary, self.path(self.rank))

    def needed(self):
        """The parts that this process reads; the last part has no neighbour."""
        return [part for part in (self.rank, self.rank + 1) if part < self.parts]

    def wait(self, interval=0.25):
        missing = self.needed()
        while missing:
            missing = [part for part in missing if not os.path.exists(self.path(part))]
            time.sleep(interval)

    def load(self, overlap=64):
        own, *neighbour = [torch.load(self.path(part)) for part in self.needed()]
        return torch.cat([own, *(heights[:overlap] for heights in neighbour)])

    def remove(self):
        for part in range(self.parts):
            if os.path.exists(self.path(part)):
                os.remove(self.path(part))
        os.rmdir(self.folder)
