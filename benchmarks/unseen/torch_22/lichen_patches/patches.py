"""Patches of lichens on rock, photographed in several valleys; a process has one valley."""
from functools import cached_property

import torch
import torch.distributed as dist

KINDS = ["map", "crab-eye", "sunburst", "rock tripe", "wart"]


class Patches:
    def __init__(self, valley, size=2000, features=20):
        g = torch.Generator().manual_seed(40 + valley)
        share = torch.tensor([4.0, 2.0, 1.0, 1.0, 0.5]).roll(valley)
        self.kind = torch.multinomial(share, size, replacement=True, generator=g)
        centres = torch.randn(len(KINDS), features, generator=torch.Generator().manual_seed(5))
        self.pixels = centres[self.kind] + 1.6 * torch.randn(size, features, generator=g)
        self.generator = g

    def __len__(self):
        return len(self.kind)

    @cached_property
    def balance(self):
        """Weights of the kinds, rare ones more, by the counts of all valleys. They do not change, so once is enough."""
        counts = torch.bincount(self.kind, minlength=len(KINDS)).tolist()
        everywhere = [None] * dist.get_world_size()
        dist.all_gather_object(everywhere, counts)
        total = torch.tensor(everywhere).sum(0).float()
        return total.sum() / (len(KINDS) * total.clamp(min=1.0))

    def batches(self, size):
        order = torch.randperm(len(self), generator=self.generator)
        for start in range(0, len(self) - size + 1, size):
            pick = order[start:start + size]
            yield self.pixels[pick], self.kind[pick]

    def share(self, kind):
        return (self.kind == kind).float().mean().item()

    def weighted_accuracy(self, guess):
        weight = self.balance[self.kind]
        return (weight * (guess == self.kind)).sum() / weight.sum()
