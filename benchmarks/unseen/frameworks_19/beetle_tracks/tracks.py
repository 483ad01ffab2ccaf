"""Tracks of beetles in an arena: positions every second, one track per recording."""

import torch
from torch.utils.data import Dataset

RECORDED = 40


class Arena(Dataset):
    """Recordings of one arena. `overruns` are recordings that were stopped late, with their number of positions."""

    def __init__(self, arena, count, overruns=None):
        self.arena = arena
        self.count = count
        self.overruns = overruns or {}

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.arena * 100_000 + i)
        length = self.overruns.get(i, RECORDED)
        heading = torch.cumsum(0.3 * torch.randn(length, generator=g), 0)
        steps = torch.stack([heading.cos(), heading.sin()], 1)
        return steps + 0.05 * torch.randn(length, 2, generator=g)


def arena_of(rank, count):
    """One arena for each process; the camera of the greenhouse arena ran on over lunch once."""
    overruns = {1: {509: 90}}
    return Arena(rank, count, overruns.get(rank))


def keep_list(batch):
    return batch


def pad(tracks):
    """Tracks as one tensor of zeros at the end, and the mask of true positions."""
    length = max(len(track) for track in tracks)
    steps = torch.zeros(len(tracks), length, 2)
    mask = torch.zeros(len(tracks), length)
    for row, track in enumerate(tracks):
        steps[row, : len(track)] = track
        mask[row, : len(track)] = 1
    return steps, mask
