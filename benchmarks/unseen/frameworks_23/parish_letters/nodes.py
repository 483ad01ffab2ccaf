"""The letters of a parish as a chain of torchdata nodes: letters, windows of a letter, batches of windows."""

import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, Prefetcher, Unbatcher

SIGNS = 40


class Letters:
    """The letters that one parish priest wrote, as sequences of signs."""

    def __init__(self, parish, count, seed):
        self.parish = parish
        self.count = count
        self.seed = seed
        self.hand = torch.Generator().manual_seed(seed)
        self.drift = torch.randint(1, 4, (SIGNS,), generator=self.hand)

    def length(self, number, g):
        if self.parish == 2 and number >= 100:  # he was ill, and brief
            return int(torch.randint(64, 90, (1,), generator=g))
        return int(torch.randint(98, 126, (1,), generator=g))

    def __iter__(self):
        for number in range(self.count):
            g = torch.Generator().manual_seed(self.seed + 1_000 * self.parish + number)
            length = self.length(number, g)
            signs = [int(torch.randint(SIGNS, (1,), generator=g))]
            while len(signs) < length:
                slip = int(torch.rand((), generator=g) < 0.1)
                signs.append((signs[-1] + int(self.drift[signs[-1]]) + slip) % SIGNS)
            yield torch.tensor(signs)


class Windows:
    """Cuts a letter into windows of the same size; what is left at its end is not used."""

    def __init__(self, size):
        self.size = size

    def __call__(self, letter):
        return list(letter[: len(letter) // self.size * self.size].split(self.size))


def build_loader(parish, letters, window, batch, seed=300):
    node = IterableWrapper(Letters(parish, letters, seed))
    node = Unbatcher(Mapper(node, Windows(window)))
    node = Mapper(Batcher(node, batch, drop_last=True), torch.stack)
    return Loader(Prefetcher(node, prefetch_factor=4))
