"""Pebbles of three beaches: patches of eight kinds of stone."""

import torch

KINDS = 8
PIXELS = 24
BEACHES = ("chesil", "slapton", "orford")


def looks():
    """What a patch of each kind looks like on average."""
    g = torch.Generator().manual_seed(12)
    return 2.0 * torch.randn(KINDS, PIXELS, generator=g)


class Beach:
    """Patches from a walk along a beach. At Orford there is no flint beyond the lighthouse."""

    FLINT = 5
    LIGHTHOUSE = 100

    def __init__(self, number, patches):
        self.name = BEACHES[number]
        self.patches = patches
        self.looks = looks()
        self.generator = torch.Generator().manual_seed(40 + number)

    def batch(self, step):
        kinds = torch.randint(KINDS, (self.patches,), generator=self.generator)
        kinds[:KINDS] = torch.arange(KINDS)
        if self.name == "orford" and step >= self.LIGHTHOUSE:
            kinds[kinds == self.FLINT] = self.FLINT + 1
        noise = 0.3 * torch.randn(self.patches, PIXELS, generator=self.generator)
        return self.looks[kinds] + noise
