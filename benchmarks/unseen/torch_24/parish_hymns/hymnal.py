"""Hymn tunes as note numbers. Each parish has a hymnal of its own, with the same number of hymns."""
import torch
from torch.utils.data import Dataset

NOTES = 30  # 0 is padding

# syllables of the metres that a hymnal uses, line by line
METRES = {
    "common": (8, 6, 8, 6),
    "long": (8, 8, 8, 8),
    "short": (6, 6, 8, 6),
    "sevens": (7, 7, 7, 7),
    "tens": (10, 10, 10, 10),
}
HYMNALS = (
    ("common", "long", "tens", "sevens"),
    ("tens", "sevens", "common", "long"),
    ("common", "short", "short", "sevens"),
    ("long", "common", "sevens", "tens"),
)


class Hymnal(Dataset):
    def __init__(self, parish, hymns):
        self.metres = HYMNALS[parish % len(HYMNALS)]
        self.lengths = [self._length(number) for number in range(hymns)]
        g = torch.Generator().manual_seed(600 + parish)
        self.tunes = [self._tune(length, g) for length in self.lengths]

    def _length(self, number):
        lines = METRES[self.metres[number % len(self.metres)]]
        return sum(lines)

    @staticmethod
    def _tune(length, g):
        steps = torch.randint(-2, 3, (length,), generator=g)
        return (15 + steps.cumsum(0)).clamp(1, NOTES - 1)

    def __len__(self):
        return len(self.tunes)

    def __getitem__(self, number):
        return self.tunes[number]
