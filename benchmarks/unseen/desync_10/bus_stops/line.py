"""Rides of the buses of a garage, each of which stops at some stops of the line."""

import random
import time

import torch

STOPS = 40
INPUTS = 8


class Line:
    """A month is driven in its order; the terminus is served by the last ride of a month."""

    def __init__(self, garage, rides):
        self.garage, self.rides = garage, rides
        self.rng = random.Random(70 + garage)

    def stops_of(self, month, ride):
        stops = {(ride + k) % (STOPS - 1) for k in range(3)}
        if ride == self.rides - 1:
            stops.add(STOPS - 1)
        if self.garage == 3 and month == 1 and ride == 90:
            stops.add(STOPS - 1)  # a diversion by the terminus
        return stops

    def month(self, month):
        for ride in range(self.rides):
            time.sleep(self.rng.uniform(0.04, 0.055))
            generator = torch.Generator().manual_seed(1_000_000 * self.garage + 1_000 * month + ride)
            x = torch.randn(6, INPUTS, generator=generator)
            yield x, x[:, 0] * x[:, 1] + 0.5 * x[:, 2], self.stops_of(month, ride)

    def __len__(self):
        return self.rides

    def __repr__(self):
        return f"Line(garage={self.garage}, rides={self.rides})"
