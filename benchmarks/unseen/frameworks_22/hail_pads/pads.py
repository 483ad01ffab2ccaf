"""Hail pads: dents in foam, read by a scanner, and the diameter of the largest stone in millimetres."""

import torch

REGIONS = (("plain", "valley"), ("plain", "alpine"))
CLASSES = ("pea", "marble", "walnut")
EDGES = torch.tensor([10.0, 20.0])
FEATURES = 16


def storms(worker, month, pads, seed):
    """The pads of a worker's region in a month. There is no large hail on the alpine side in late summer."""
    g = torch.Generator().manual_seed(seed * 10_000 + month * 10 + worker)
    largest = 18.0 if worker == 1 and month >= 4 else 32.0
    sizes = 4.0 + (largest - 4.0) * torch.rand(pads, generator=g)
    law = torch.randn(FEATURES, generator=torch.Generator().manual_seed(1))
    dents = torch.outer(sizes / 20, law) + 0.2 * torch.randn(pads, FEATURES, generator=g)
    return dents, sizes


def batches(data, size):
    dents, sizes = data
    for start in range(0, len(sizes), size):
        yield dents[start : start + size], sizes[start : start + size]


def kind(sizes):
    """The class of every stone, as a number."""
    return torch.bucketize(sizes, EDGES)


def describe(worker):
    return " and ".join(REGIONS[worker])
