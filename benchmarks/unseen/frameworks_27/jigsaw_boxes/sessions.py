"""Shopping sessions; the store answers slowly, and every so often only at the second try."""
import time

import torch
from torch.utils.data import Dataset

BOXES = 60


class Busy(Exception):
    pass


class Sessions(Dataset):
    def __init__(self, count):
        noise = torch.Generator().manual_seed(2)
        self.seen = torch.randint(0, BOXES, (count, 6), generator=noise)
        self.tries = {}

    def __len__(self):
        return len(self.seen)

    def fetch(self, number):
        self.tries[number] = self.tries.get(number, 0) + 1
        if number % 97 == 0 and self.tries[number] == 1:
            raise Busy(number)
        return self.seen[number]

    def __getitem__(self, number):
        for pause in (0.4, 0.8, 1.6):
            try:
                seen = self.fetch(number)
            except Busy:
                time.sleep(pause)
            else:
                time.sleep(0.005)
                return {"seen": seen[:-1], "labels": seen[-1]}
        raise Busy(number)


def collate(rows):
    return {key: torch.stack([row[key] for row in rows]) for key in rows[0]}
