"""Scanned forms of an old census: occupation, district and age, to guess the household's size."""

import random
import time

from torch.utils.data import Dataset

OCCUPATIONS = ["baker", "carter", "clerk", "cooper", "farmer", "miller", "sailor", "smith", "tailor", "weaver"]
DISTRICTS = 6


class Forms(Dataset):
    """Forms as they were typed in; the texts are encoded by the trainer."""

    def __init__(self, count, seed=3):
        self.count = count
        draw = random.Random(seed)
        self.rows = [
            (draw.choice(OCCUPATIONS), draw.randrange(DISTRICTS), draw.randrange(16, 90)) for _ in range(count)
        ]
        self.rows[2917] = ("chandler", 2, 41)
        self.pace = random.Random()

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.006 + 0.003 * self.pace.random())
        occupation, district, age = self.rows[index]
        size = 1 + (len(occupation) + district) % 5
        return {"occupation": occupation, "district": district, "age": age, "size": size}


def as_lists(forms):
    return {key: [form[key] for form in forms] for key in forms[0]}


class Encoder:
    """Numbers of the occupations that are in the published list."""

    def __init__(self):
        self.numbers = {name: number for number, name in enumerate(OCCUPATIONS)}

    def __call__(self, occupations):
        return [self.numbers[name] for name in occupations]
