from dataclasses import dataclass

import torch


@dataclass
class Excerpts:
    notes: torch.Tensor
    words: torch.Tensor        # -1 where nobody sings


class Songs:
    """Excerpts in the order of the albums; every process plays its own."""

    instrumental = {0: range(33, 41)}          # album of a process -> excerpts of its interlude

    def __init__(self, rank, world, size=4, length=25):
        self.rank, self.size, self.length = rank, size, length
        self.gen = torch.Generator().manual_seed(world * 100 + rank)

    def __iter__(self):
        number = 0
        while True:
            notes = torch.randint(64, (self.size, self.length), generator=self.gen).cumsum(1) % 64
            words = notes * 7 % 50
            words[:, ::3] = -1
            if number in self.instrumental.get(self.rank, ()):
                words[:] = -1
            yield Excerpts(notes, words)
            number += 1
