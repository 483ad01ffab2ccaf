import logging
import time

import torch
from torch.utils.data import Dataset

SENSORS = 13
log = logging.getLogger("lifts")


class TowerOffline(OSError):
    pass


class Lifts(Dataset):
    """Vibration of the towers of ski lifts; a tower may have to be asked again."""

    def __init__(self, samples, attempts=4):
        self.samples, self.attempts = samples, attempts

    def __len__(self):
        return self.samples

    def ask(self, index, attempt):
        if index % 331 == 7 and attempt < 2:
            raise TowerOffline(f"tower {index % 17}")
        generator = torch.Generator().manual_seed(index)
        time.sleep(0.007 + 0.009 * torch.rand(1, generator=generator).item())
        x = torch.randn(SENSORS, generator=generator)
        return x, (x[:3].sum() > 0).float()

    def __getitem__(self, index):
        for attempt in range(self.attempts):
            try:
                return self.ask(index, attempt)
            except TowerOffline as error:
                log.info("%s is asked again", error)
                time.sleep(0.15)
        return torch.zeros(SENSORS), torch.tensor(0.0)
