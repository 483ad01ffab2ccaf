"""Barges at the locks of three canals; each canal sends as many a week as there is water."""

import time

import torch

WEEKS = {"Brunner": [20, 35, 60, 25], "Oldcut": [50, 15, 30, 40], "Summit": [12, 48, 22, 55]}
FEATURES = 10


class Canal:
    """Weekly batches of one canal. After a long dry spell the lock needs some time before its gates open."""

    def __init__(self, name, seed, batch, dry=None):
        self.name = name
        self.weeks = WEEKS[name]
        self.batch = batch
        self.dry = dry or {}
        self.rates = torch.randn(FEATURES, generator=torch.Generator().manual_seed(0)) / 3
        self.generator = torch.Generator().manual_seed(seed)

    def open_gates(self, week):
        time.sleep(self.dry.get(week, 0.0))

    def week(self, number):
        self.open_gates(number)
        for _ in range(self.weeks[number]):
            cargo = torch.randn(self.batch, FEATURES, generator=self.generator)
            toll = cargo @ self.rates + 0.1 * torch.randn(self.batch, generator=self.generator)
            time.sleep(0.02)  # weighing
            yield cargo, toll
