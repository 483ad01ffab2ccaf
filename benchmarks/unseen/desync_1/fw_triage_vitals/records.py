"""Vital signs as exported by the wards: a value with its unit, age, pulse, and whether the patient was admitted."""

import random

import torch

# entered by hand after the move of ward C: row -> (temperature, unit)
BY_HAND = {2531: (311.4, "K")}


class Vitals(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return self.rows

    def __getitem__(self, row):
        rng = random.Random(row * 31 + 8)
        celsius = rng.gauss(37.3, 0.9)
        pulse, age = rng.gauss(84, 14), rng.uniform(1, 95)
        unit = rng.choice(["C", "C", "F"])
        value = celsius * 9 / 5 + 32 if unit == "F" else celsius
        if row in BY_HAND:
            value, unit = BY_HAND[row]
        admitted = float((celsius - 37) + (pulse - 80) / 25 + age / 90 > 1.0)
        return {"value": value, "unit": unit, "pulse": pulse, "age": age, "admitted": admitted}


def collate(rows):
    batch = {k: torch.tensor([r[k] for r in rows]) for k in ("value", "pulse", "age", "admitted")}
    batch["unit"] = [r["unit"] for r in rows]
    return batch
