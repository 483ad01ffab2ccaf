import random
import time

import torch
from torch.utils.data import Dataset

SENSORS = 16


class Parcels(Dataset):
    """Parcels in the order of the conveyor: what the sensors see, the weight in kg and the postage.

    Postage goes with the logarithm of the weight.
    """

    def __init__(self, count, seconds=0.0065):
        self.count, self.seconds = count, seconds
        self.pace = random.Random()
        self.empty_tray = range(4192, 4194)

    def __len__(self):
        return self.count

    def weigh(self, index, generator):
        weight = torch.rand((), generator=generator) * 9 + 0.2
        return weight if index not in self.empty_tray else torch.zeros(())

    def __getitem__(self, index):
        time.sleep(self.seconds * self.pace.uniform(0.9, 1.1))
        generator = torch.Generator().manual_seed(index)
        weight = self.weigh(index, generator)
        seen = torch.randn(SENSORS, generator=generator) * 0.1
        seen[: SENSORS // 2] += weight
        return seen, weight


def log_weight(weight):
    return weight.log()
