"""Digits of postal codes on envelopes."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

PIXELS, DIGITS = 36, 10


class Smudged(Exception):
    pass


class Envelopes(Dataset):
    def __init__(self, count):
        self.count = count
        self.belt = random.Random()

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.005 + 0.002 * self.belt.random())
        generator = torch.Generator().manual_seed(index)
        digit = int(torch.randint(0, DIGITS, (1,), generator=generator))
        image = torch.rand(PIXELS, generator=generator)
        image[digit * 3 : digit * 3 + 4] += 0.9
        if 2_904 <= index < 2_912 or 6_304 <= index < 6_312:
            image.zero_()
        return image, digit


class Camera:
    """Looks at a batch under another exposure if it cannot be read, three times at most."""

    def __init__(self):
        self.exposures = 0
        self.given_up = 0

    def expose(self, image, attempt):
        self.exposures += 1
        time.sleep(0.02 * attempt)
        if image.amax() < 0.1:
            raise Smudged(f"nothing to be seen, exposure {attempt}")
        return (image - image.mean()) / image.std()

    def read(self, image):
        for attempt in range(1, 4):
            try:
                return self.expose(image, attempt)
            except Smudged:
                time.sleep(0.3)
        self.given_up += 1
        return None


def envelopes(count, batch):
    return DataLoader(Envelopes(count), batch, drop_last=True)
