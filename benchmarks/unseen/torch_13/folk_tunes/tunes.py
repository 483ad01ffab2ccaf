"""Folk tunes in letters, packed into blocks of a fixed length."""
import random

import torch
from torch.utils.data import IterableDataset, get_worker_info

LETTERS = "ABCDEFGabcdefg|:2/3-~ \n"
KEYS = ("G", "D", "A", "Em")


def tune(number):
    """One tune: some tunes have variations, the slow airs are long."""
    r = random.Random(number)
    bars = r.choice((8, 8, 16))
    if number % 5 == 2:
        bars *= r.choice((1, 2, 3))
    if number >= 800 and number % 4 == 3:
        bars = max(4, bars // 2)
    phrase = [r.choice("ABCDEFGabcdefg") for _ in range(6)]
    text = []
    for _ in range(bars):
        r.shuffle(phrase)
        text.append("".join(phrase[: r.randint(4, 6)]) + "|")
    return "".join(text) + "\n"


class PackedTunes(IterableDataset):
    def __init__(self, tunes, block, rank, world, volume=0):
        self.tunes = tunes
        self.block = block
        self.rank, self.world = rank, world
        self.volume = volume

    def open(self, volume):
        self.volume = volume

    def numbers(self):
        first = self.volume * self.tunes
        worker = get_worker_info()
        assert worker is None or worker.num_workers == 1
        return range(first + self.rank, first + self.tunes, self.world)

    def __iter__(self):
        rest = []
        for number in self.numbers():
            rest.extend(LETTERS.index(letter) for letter in tune(number))
            while len(rest) > self.block:
                yield torch.tensor(rest[: self.block + 1])
                rest = rest[self.block :]
