import time
from dataclasses import dataclass

import torch
from torch.utils.data import IterableDataset

INPUTS = 20


@dataclass
class Moves:
    """Positions with the time that the player had left, and the seconds that the move took."""

    positions: torch.Tensor
    seconds: torch.Tensor
    bullet: torch.Tensor

    def __len__(self):
        return len(self.seconds)


class Archive(IterableDataset):
    """The games of one site, in the order in which they were played."""

    def __init__(self, site: int, rounds: int, moves: int = 12):
        self.site, self.rounds, self.moves = site, rounds, moves

    def is_arena(self, number):
        """Arenas are played with one minute each; site 1 held one in the evening of the festival."""
        return self.site == 1 and number == 148

    def __iter__(self):
        for number in range(self.rounds):
            generator = torch.Generator().manual_seed(7919 * self.site + number)
            time.sleep(0.03 + 0.03 * torch.rand(1, generator=generator).item())
            positions = torch.randn(self.moves, INPUTS, generator=generator)
            seconds = (positions[:, :3].sum(dim=1) / 2).exp().clamp(max=60)
            bullet = torch.rand(self.moves, generator=generator) < 0.15
            if self.is_arena(number):
                bullet = torch.ones(self.moves, dtype=torch.bool)
            yield Moves(positions, seconds, bullet)
