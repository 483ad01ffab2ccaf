"""Flight paths of black kites, in the order in which the birds' tags sent them."""

import time

import torch
from torch.utils.data import Dataset

POINTS = 16


class Paths(Dataset):
    """Two noisy views of each stretch of a path, and the bird that flew it."""

    def __init__(self, station, stretches, birds=5):
        self.station, self.stretches, self.birds = station, stretches, birds

    def __len__(self):
        return self.stretches

    def bird_of(self, index):
        if self.station == 1 and 1_356 <= index < 1_370:
            return 3  # a single long flight over the strait
        return (7 * index + self.station) % self.birds

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(100_000 * self.station + index)
        time.sleep(0.0045 + 0.003 * torch.rand(1, generator=generator).item())
        bird = self.bird_of(index)
        shape = torch.sin(torch.linspace(0, 3 + bird, 2 * POINTS))
        first = shape + 0.3 * torch.randn(2 * POINTS, generator=generator)
        second = shape + 0.3 * torch.randn(2 * POINTS, generator=generator)
        return first, second, bird

    def counts(self):
        """Number of stretches of each bird."""
        numbers = [0] * self.birds
        for index in range(self.stretches):
            numbers[self.bird_of(index)] += 1
        return numbers
