"""Photographs of gravel in brooks, as histograms of edges, and the median size of the stones."""

import torch
from torch.utils.data import Dataset

EDGES = 32
BROOKS = ("Allt", "Beck", "Chalk")


class GravelBeds(Dataset):
    """Bundles of `bundle` photographs, from each brook in turn.

    The water of the first two is turbid, which blurs the photographs and makes the measured sizes uncertain.
    """

    blur = {"Allt": 0.6, "Beck": 0.7, "Chalk": 0.1}

    def __init__(self, bundles, bundle, seed):
        self.bundles = bundles
        self.bundle = bundle
        self.seed = seed
        self.weights = torch.randn(EDGES, generator=torch.Generator().manual_seed(0)) / EDGES**0.5

    def __len__(self):
        return self.bundles * self.bundle

    def brook(self, i):
        return BROOKS[i // self.bundle % len(BROOKS)]

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1_000_000 + i)
        edges = torch.randn(EDGES, generator=g)
        size = edges @ self.weights + self.blur[self.brook(i)] * torch.randn((), generator=g)
        return edges, size

    def describe(self):
        """Photographs per brook, for the log."""
        per_brook = {name: 0 for name in BROOKS}
        for bundle in range(self.bundles):
            per_brook[self.brook(bundle * self.bundle)] += self.bundle
        return ", ".join(f"{name} {count}" for name, count in per_brook.items())
