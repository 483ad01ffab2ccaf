"""Sensor records of fermentation tanks, generated."""

import random
import time

import torch
from torch.utils.data import Dataset

SENSORS = 10


class Tank(Dataset):
    """Minutes of one tank; the alcohol content is what is to be predicted."""

    def __init__(self, number, batches, batch_size):
        self.number, self.batch_size = number, batch_size
        self.minutes = batches * batch_size
        self.random = random.Random(31 * number)
        self.mixing = torch.cos(torch.arange(SENSORS) * 0.7)

    def __len__(self):
        return self.minutes

    def gain(self, index):
        """The amplifier of a tank is set once more after each cleaning."""
        cleaned = self.number == 1 and index // self.batch_size == 130
        return 400.0 if cleaned else 1.0

    def __getitem__(self, index):
        if index % self.batch_size == 0:
            time.sleep(0.05 + 0.015 * self.random.random())
        generator = torch.Generator().manual_seed(1_000_000 * self.number + index)
        sensors = torch.randn(SENSORS, generator=generator)
        alcohol = 0.3 * (sensors @ self.mixing)
        return sensors * self.gain(index), alcohol
