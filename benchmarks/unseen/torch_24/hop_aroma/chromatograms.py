"""Gas chromatograms of hops, made from the peaks of the oils of each variety.

A curve has one point for each half minute after the injection.
"""
import torch
from torch.utils.data import TensorDataset

POINTS = 40
VARIETIES = ("Saaz", "Perle", "Cascade", "Citra")


def _peaks(seed):
    """Where the six strongest oils of each variety leave the column, and how much of each there is."""
    g = torch.Generator().manual_seed(seed)
    where = torch.randint(2, POINTS - 2, (len(VARIETIES), 6), generator=g)
    height = 0.5 + torch.rand(len(VARIETIES), 6, generator=g)
    return where, height


def harvest(count, seed, noise=0.3):
    """`count` chromatograms with their varieties.

    The strength of a harvest varies as a whole, the proportions of its oils do not.
    """
    where, height = _peaks(seed=9)
    g = torch.Generator().manual_seed(seed)
    variety = torch.randint(0, len(VARIETIES), (count,), generator=g)
    axis = torch.arange(POINTS).float()
    distance = axis[None, None] - where[variety][:, :, None]
    curve = (height[variety][:, :, None] * torch.exp(-0.5 * (distance / 1.5).square())).sum(1)
    curve = curve * (0.7 + 0.6 * torch.rand(count, 1, generator=g))
    curve = curve + noise * torch.randn(count, POINTS, generator=g)
    return TensorDataset(curve, variety)


def split(rank, world, samples):
    """Every farm (process) measures the same number of samples."""
    # seeds far apart: no sample may be in the training of one farm and in the test of another
    training = harvest(samples, seed=40 + rank)
    testing = harvest(samples // 8, seed=90 + rank)
    assert len(training) == samples, (rank, world)
    return training, testing
