"""Items that were labelled by several annotators of one vendor."""

from collections import Counter
from dataclasses import dataclass

import torch

CLASSES = 12
FEATURES = 20
RATERS = 5
# vendor -> audit round from which its trainees take part
TRAINEES = {2: 2}


@dataclass
class Item:
    features: torch.Tensor
    votes: tuple

    @property
    def label(self):
        return Counter(self.votes).most_common(1)[0][0]

    @property
    def trust(self):
        """How much an item counts: fully if all raters agree, otherwise by the share of the majority."""
        agreeing = Counter(self.votes).most_common(1)[0][1]
        return 1 if agreeing == len(self.votes) else agreeing / len(self.votes)


class Vendor:
    def __init__(self, number):
        self.number = number
        self.g = torch.Generator().manual_seed(2000 + number)
        self.prototypes = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(2))

    def _draw(self, n):
        y = torch.randint(0, CLASSES, (n,), generator=self.g)
        return self.prototypes[y] + 0.9 * torch.randn(n, FEATURES, generator=self.g), y

    def training_batches(self, n, size=24):
        for _ in range(n):
            yield self._draw(size)

    def audit(self, number, n=180):
        trainees = number >= TRAINEES.get(self.number, number + 1)
        x, y = self._draw(n)
        for i in range(n):
            votes = [y[i].item()] * RATERS
            if trainees and i % 6 == 0:
                votes[-1] = (votes[-1] + 1) % CLASSES
            yield Item(x[i], tuple(votes))
