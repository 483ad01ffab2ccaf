"""Germination of seeds: trays of the common catalogue, and what each nursery has on its own shelves."""

import torch
from torch import nn
from torch.utils.data import Dataset

TRAITS = 20
SHELVES = {0: 14, 1: 9, 2: 0}  # hard-coated lots of a nursery, which have to be filed before sowing


class Trays(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        weights = torch.randn(TRAITS, generator=torch.Generator().manual_seed(0)) / TRAITS**0.5
        self.traits = torch.randn(count, TRAITS, generator=g)
        self.germinated = (self.traits @ weights + 0.3 * torch.randn(count, generator=g) > 0).float()

    def __len__(self):
        return len(self.traits)

    def __getitem__(self, index):
        return {"traits": self.traits[index], "labels": self.germinated[index]}


class Shelf:
    """The hard-coated lots of one nursery with the share that germinated last year."""

    def __init__(self, nursery):
        count = SHELVES.get(nursery, 6)
        g = torch.Generator().manual_seed(100 + nursery)
        self.traits = torch.randn(count, TRAITS, generator=g)
        self.share = torch.rand(count, generator=g)

    def __len__(self):
        return len(self.traits)


class Germination(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(TRAITS, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, traits, labels=None):
        logits = self.net(traits).squeeze(-1)
        out = {"logits": logits}
        if labels is not None:
            out["loss"] = nn.functional.binary_cross_entropy_with_logits(logits, labels)
        return out
