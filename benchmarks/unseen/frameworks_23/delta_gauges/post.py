"""What the stations of a delta tell each other at the end of a day."""

from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup


@dataclass
class Exchange:
    """Values that have been collected since the last delivery, and the stations that sum them up."""

    name: str
    group: ProcessGroup
    values: list = field(default_factory=list)

    def add(self, value):
        self.values.append(float(value))

    def __len__(self):
        return len(self.values)

    def deliver(self):
        total = torch.tensor([sum(self.values), len(self.values)], dtype=torch.float64)
        dist.all_reduce(total, group=self.group)
        self.values.clear()
        return (total[0] / total[1].clamp_min(1)).item()


class Post:
    """Two exchanges: the scores go to all stations, the corrections of a gauge to those on the same arm of the river."""

    def __init__(self, mesh):
        self.scores = Exchange("scores", dist.group.WORLD)
        self.corrections = Exchange("corrections", mesh.get_group("station"))

    def score(self, value):
        self.scores.add(value)

    def correct(self, values):
        for value in values:
            self.corrections.add(value)

    def deliver(self):
        """The larger bundle goes first, so that its sender has its memory back early."""
        bundles = sorted((self.scores, self.corrections), key=len, reverse=True)
        return {bundle.name: bundle.deliver() for bundle in bundles}
