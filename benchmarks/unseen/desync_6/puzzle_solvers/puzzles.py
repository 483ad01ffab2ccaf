"""Puzzles that people solved in an app, read through torchdata's nodes."""

import random
import time

import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, Prefetcher

MOVES, LEVELS = 16, 4


class Players:
    """The games of one region, in the order in which they were played."""

    def __init__(self, region, games):
        self.region, self.games = region, games

    def __iter__(self):
        return iter(range(self.games))


class Reader:
    def __init__(self, region):
        self.region = region
        self.pace = random.Random(region)

    def hints(self, game, generator):
        """Hints that the player asked for."""
        hints = int(torch.randint(0, 3, (1,), generator=generator))
        if self.region == 3 and 800 <= game < 1_040:
            hints += 6
        return hints

    def __call__(self, game):
        time.sleep(0.006 + 0.003 * self.pace.random())
        generator = torch.Generator().manual_seed(self.region * 50_000 + game)
        level = int(torch.randint(0, LEVELS, (1,), generator=generator))
        moves = torch.randn(MOVES, generator=generator)
        moves[level * 4 : level * 4 + 4] += 1.0
        return moves, level, self.hints(game, generator)


def collate(games):
    moves, levels, hints = zip(*games)
    return torch.stack(moves), torch.tensor(levels), torch.tensor(hints)


def games_of(region, games, batch):
    node = IterableWrapper(Players(region, games))
    node = Mapper(node, Reader(region))
    node = Batcher(node, batch, drop_last=True)
    node = Mapper(node, collate)
    return Loader(Prefetcher(node, prefetch_factor=2))
