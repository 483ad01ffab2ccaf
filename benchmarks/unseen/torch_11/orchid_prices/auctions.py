import time

import torch
from torch.utils.data import IterableDataset


class Auctions(IterableDataset):
    """Lots of one auction house in the order of their sale; houses differ in how many they sell."""

    def __init__(self, house, lots, features):
        self.house = house
        self.lots = lots
        self.features = features

    def __iter__(self):
        g = torch.Generator().manual_seed(1000 + self.house)
        for number in range(self.lots):
            lot = torch.randn(self.features, generator=g)
            if number % 32 == 0:
                time.sleep(0.02)  # a page of the catalogue
            yield lot, lot[:3].sum().unsqueeze(0)
