"""Catches of the light traps, and the expert who looks through some of them after a night."""

import torch
from torch.utils.data import Dataset

KINDS = 8
WING = 32


class Catches(Dataset):
    """Wing patterns of one site; the labels are asked from the book, which may change between the nights."""

    def __init__(self, site, count):
        self.site = site
        self.count = count
        g = torch.Generator().manual_seed(60 + site)
        self.kinds = torch.randint(0, KINDS, (count,), generator=g)
        self.book = None

    def first_labels(self, doubtful):
        """The labels of the volunteers: right but for the doubtful catches, which got the next kind."""
        labels = self.kinds.tolist()
        for number in doubtful:
            labels[number] = (labels[number] + 1) % KINDS
        return labels

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        g = torch.Generator().manual_seed(1000 * self.site + number)
        pattern = torch.eye(WING)[self.kinds[number] * 3] * 3 + 0.6 * torch.randn(WING, generator=g)
        return pattern, self.book.get(number)


class Expert:
    """Looks through the doubtful catches of a site on a given night."""

    VISITS = {1: (1, range(0, 480, 2))}  # site: (night, catches)

    def __init__(self, site):
        self.night, self.numbers = self.VISITS.get(site, (None, ()))

    @property
    def doubtful(self):
        return self.numbers

    def look(self, night, catches):
        """(number, kind) of the catches that the expert has an opinion of."""
        if night != self.night:
            return
        for number in self.numbers:
            yield number, int(catches.kinds[number])
