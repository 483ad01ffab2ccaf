from dataclasses import dataclass

import torch

BOOKS = range(5530, 5560)  # second-hand books come without a picture


@dataclass
class Batch:
    words: torch.Tensor
    pictures: torch.Tensor
    has_picture: torch.Tensor
    category: torch.Tensor


class Catalogue:
    """The articles in the order of the import, dealt out to the workers batch by batch."""

    def __init__(self, rank: int, world_size: int, batch_size: int):
        self.rank = rank
        self.world_size = world_size
        self.batch_size = batch_size

    def batch(self, step: int) -> Batch:
        first = (step * self.world_size + self.rank) * self.batch_size
        g = torch.Generator().manual_seed(first)
        category = torch.randint(0, 12, (self.batch_size,), generator=g)
        words = torch.randint(0, 500, (self.batch_size, 12), generator=g)
        words[:, 0] = category
        number = torch.arange(first, first + self.batch_size)
        missing = (number % 7 == 3) | ((number >= BOOKS.start) & (number < BOOKS.stop))
        pictures = torch.randn(int((~missing).sum()), 1, 24, 24, generator=g)
        return Batch(words, pictures, ~missing, category)
