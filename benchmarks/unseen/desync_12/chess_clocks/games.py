"""Games of a chess club with the time that was left on the clocks, in the order of the club's book."""

import time

import torch
import torchdata.nodes as tn

MOVES = 10
LAST_ROUND = 9


class ClubBook:
    """The games of a season, read anew for each pass over a season.

    A play-off is written down as round 10, after the rounds of the tournament.
    """

    def __init__(self, club, games, seasons_with_early_playoff):
        self.club, self.games = club, games
        self.early = seasons_with_early_playoff
        self.season = -1

    def __iter__(self):
        self.season += 1
        generator = torch.Generator().manual_seed(700 * self.club + self.season)
        for number in range(self.games):
            time.sleep(0.007 * (0.8 + 0.4 * torch.rand(1, generator=generator).item()))
            round_number = 1 + number * LAST_ROUND // self.games
            # two players had to leave before the end and met for their play-off earlier
            if self.season in self.early and number == self.games // 2 + 3:
                round_number = LAST_ROUND + 1
            clocks = torch.rand(2 * MOVES, generator=generator)
            result = 1 if clocks[:MOVES].sum() > clocks[MOVES:].sum() else 0
            yield {"clocks": clocks, "result": result, "round": round_number}


def stack(games):
    return (
        torch.stack([game["clocks"] for game in games]),
        torch.tensor([game["result"] for game in games]),
        torch.tensor([game["round"] for game in games]),
    )


def loader(book, batch_size):
    node = tn.IterableWrapper(book)
    node = tn.Batcher(node, batch_size, drop_last=True)
    node = tn.Mapper(node, stack)
    return tn.Loader(node)
