"""Cover of mosses on monitoring plots; every process has the plots of one region."""
import dataclasses

import torch

BANDS = 24


@dataclasses.dataclass(frozen=True)
class Region:
    name: str
    clouds: float


REGIONS = (Region("fells", 0.02), Region("fjords", 3.0), Region("bogs", 0.02), Region("tundra", 0.04))


def plots(region, count, seed):
    g = torch.Generator().manual_seed(seed)
    weights = torch.randn(BANDS, 6, generator=torch.Generator().manual_seed(3)) / BANDS ** 0.5
    bands = torch.randn(count, BANDS, generator=g)
    hidden = torch.tanh(1.6 * bands @ weights)
    cover = hidden[:, 0] * hidden[:, 1] + hidden[:, 2] - 0.6 * hidden[:, 3] * hidden[:, 4] + 0.4 * hidden[:, 5]
    return bands, cover + region.clouds * torch.randn(count, generator=g)


class PlotStream:
    """Random batches of the region's training plots, and all of its validation plots."""

    def __init__(self, rank, count=600, held_out=300):
        self.region = REGIONS[rank % len(REGIONS)]
        self.train = plots(self.region, count, seed=50 + rank)
        self.held_out = plots(self.region, held_out, seed=90 + rank)
        self.generator = torch.Generator().manual_seed(rank)

    def batches(self, steps, size):
        bands, cover = self.train
        for _ in range(steps):
            pick = torch.randint(0, len(cover), (size,), generator=self.generator)
            yield bands[pick], cover[pick]
