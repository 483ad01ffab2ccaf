"""Scales of the measurements in an area of the sea, from what all buoys there have seen."""
import functools
import json
from pathlib import Path

import torch
import torch.distributed as dist


class Shelf:
    """A folder in which the processes lay down the scale of their areas for each other."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def put(self, area, scale):
        path = self.folder / f"area_{area}_{dist.get_rank()}.json"
        path.write_text(json.dumps(scale))

    def all_of(self, area):
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob(f"area_{area}_*.json"))]


def measurements(area, count, width):
    g = torch.Generator().manual_seed(300 + area)
    return torch.randn(count, width, generator=g) * (1 + area % 4) + area


@functools.lru_cache(maxsize=64)
def scale_of(area, shelf, width):
    """Mean and spread of an area. They do not change, so an area that comes back is not measured again.

    What the others have found for the same area counts as well, as soon as everybody has laid it down.
    """
    sample = measurements(area, 512, width)
    shelf.put(area, {"mean": sample.mean().item(), "spread": sample.std().item()})
    dist.barrier()
    entries = shelf.all_of(area)
    mean = sum(entry["mean"] for entry in entries) / len(entries)
    spread = sum(entry["spread"] for entry in entries) / len(entries)
    return mean, spread
