"""Pictures of sea cliffs from three coasts; panoramas take a place in the decoding budget of the machine."""
import signal
import time

import torch
from torch.utils.data import Dataset


class Budget:
    """Places for decoded panoramas: taken by the loader's worker, given back when a batch has been trained on."""

    def __init__(self, context, places):
        self.places = context.Semaphore(places)

    def take(self):
        self.places.acquire()

    def give_back(self, count):
        for _ in range(count):
            self.places.release()


class Cliffs(Dataset):
    """The coasts of Moher (1) were taken as panoramas only, the others with a common lens."""

    def __init__(self, coast, count, budget):
        self.coast = coast
        self.count = count
        self.budget = budget

    def __len__(self):
        return self.count

    def is_panorama(self, index):
        return self.coast == 1

    def __getitem__(self, index):
        wide = self.is_panorama(index)
        if wide:
            self.budget.take()
        g = torch.Generator().manual_seed(1000 * self.coast + index)
        picture = torch.randn(3, 12, 48 if wide else 12, generator=g)
        time.sleep(0.004)
        nests = picture[0].mean() * 8 + 3
        small = torch.nn.functional.adaptive_avg_pool2d(picture, 8)
        return small, nests, wide


def quiet_worker(worker_id):
    """The scheduler's notice goes to the whole process group; workers are needed until the last snapshot is written."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
