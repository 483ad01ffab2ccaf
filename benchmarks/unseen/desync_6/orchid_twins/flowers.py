"""Pictures of orchids with labels of volunteers, from the four greenhouses."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

SPECIES = 4
FEATURES = 20


class Greenhouse(Dataset):
    """One greenhouse. Each picture has been labelled by one, two or three volunteers."""

    def __init__(self, house, batches, batch_size):
        self.house = house
        self.size = batches * batch_size
        self.batch_size = batch_size
        self.delay = random.Random(house * 3)
        self.opened = 110 * batch_size
        self.votes = self.count_votes()

    def count_votes(self):
        generator = torch.Generator().manual_seed(self.house)
        votes = torch.randint(1, 4, (self.size,), generator=generator)
        votes[:: self.batch_size] = 2
        if self.house == 3:
            # the day of the open door: many pictures, and nobody to look at them twice
            votes[self.opened : self.opened + self.batch_size] = 1
        return votes

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        time.sleep(0.005 + 0.004 * self.delay.random())
        generator = torch.Generator().manual_seed(index * 7 + self.house)
        species = index % SPECIES
        picture = torch.randn(FEATURES, generator=generator)
        picture[species * 5 : species * 5 + 5] += 1.0
        return picture, species, self.votes[index]


def greenhouse(house, config):
    return DataLoader(Greenhouse(house, config.batches, config.batch_size), config.batch_size)
