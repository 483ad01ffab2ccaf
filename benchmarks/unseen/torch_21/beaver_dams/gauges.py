"""Water gauges along a river with beaver dams."""
import math

import torch


class River:
    """Levels of the gauges of one river. A gauge that a dam has put under water reads nothing from then on.

    Two gauges of each river are spare: they are read when another one is lost. Levels are in multiples of the river's
    own amplitude, so that the models of two rivers can be averaged.
    """

    def __init__(self, number, gauges=8, flooded=None):
        self.g = torch.Generator().manual_seed(40 + number)
        self.phase = torch.rand(gauges, generator=self.g) * 2 * math.pi
        self.gauges = gauges
        self.flooded = flooded or {}
        self.in_use = list(range(gauges - 2))
        self.spare = [gauges - 2, gauges - 1]

    def lost(self, week):
        """The place, among the gauges in use, of one that was flooded this week, or None."""
        gauge = self.flooded.get(week)
        return self.in_use.index(gauge) if gauge in self.in_use else None

    def replace(self, place, gauge):
        self.spare.remove(gauge)
        self.in_use[place] = gauge

    def describe(self):
        return {"in use": list(self.in_use), "spare": list(self.spare), "lost": sorted(self.flooded.values())}

    def batch(self, week, size):
        """Levels of `size` moments of a week, and what the mean of all gauges will be half a week later."""
        t = week + torch.rand(size, 1, generator=self.g)
        level = torch.sin(0.2 * t + self.phase) + 0.1 * torch.randn(size, self.gauges, generator=self.g)
        later = torch.sin(0.2 * (t + 0.5) + self.phase).mean(1, keepdim=True)
        observed = level[:, self.in_use]
        return observed, later
