"""Menus of restaurants: the dishes of an evening and the caption that the house printed above them."""
import random

import torch

from decoding import END, PAD

WORDS = 40
DISHES = 24


class House:
    def __init__(self, number, full_menu=9):
        self.random = random.Random(50 + number)
        self.full_menu = full_menu
        self.hosts_weddings = number == 1

    def caption(self, dishes):
        return [3 + (dish * 5) % (WORDS - 3) for dish in sorted(set(dishes))]

    def evening(self, day):
        """Each fourth evening has the full menu, all others a part of it; weddings have more courses."""
        courses = self.full_menu if day % 4 == 0 else self.random.randint(3, self.full_menu - 2)
        if self.hosts_weddings and day % 60 == 42:
            courses = self.full_menu + 4
        dishes = self.random.sample(range(1, DISHES), courses)
        return dishes, self.caption(dishes)


def pad(rows, length):
    return torch.tensor([row + [PAD] * (length - len(row)) for row in rows])


def make_batches(number, evenings, size, first_day=0):
    house = House(number)
    batches = []
    for start in range(first_day, first_day + evenings, size):
        pairs = [house.evening(day) for day in range(start, start + size)]
        dishes = pad([dishes for dishes, _ in pairs], 16)
        captions = [caption + [END] for _, caption in pairs]
        batches.append((dishes, pad(captions, max(len(caption) for caption in captions))))
    return batches
