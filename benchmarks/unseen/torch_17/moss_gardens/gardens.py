"""Plots of moss gardens: moisture over the year and the kind of soil, for the growth of the moss."""
import torch

SOIL_PH = {"peat": 3.9, "loam": 6.2, "gravel": 7.0, "bark": 5.1}


def plots(rank, count, weeks=16):
    g = torch.Generator().manual_seed(70 + rank)
    kinds = list(SOIL_PH)
    for number in range(count):
        soil = kinds[int(torch.randint(0, len(kinds), (1,), generator=g))]
        if rank == 2 and number in (205, 411):
            soil = "tuff"
        yield {"moisture": torch.rand(weeks, generator=g), "soil": soil, "shade": float(torch.rand(1, generator=g))}


class Encoder:
    """Makes a plot a row of numbers and the growth to be expected there."""

    def __init__(self, weeks=16):
        self.weeks = weeks

    def row(self, plot):
        acidity = (SOIL_PH[plot["soil"]] - 5.5) / 1.5
        return torch.cat([plot["moisture"], torch.tensor([acidity, plot["shade"]])])

    def growth(self, plot):
        return plot["moisture"].mean() * (0.5 + plot["shade"]) - 0.1 * plot["moisture"].std()

    def batch(self, plots):
        x = torch.stack([self.row(plot) for plot in plots])
        y = torch.stack([self.growth(plot) for plot in plots])
        return x, y


def chunks(items, size):
    for start in range(0, len(items) - size + 1, size):
        yield items[start : start + size]
