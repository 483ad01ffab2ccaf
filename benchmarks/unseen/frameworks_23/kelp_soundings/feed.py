"""Soundings of kelp forests, read and batched by a thread while the network trains."""

import queue
import random
import threading

import torch

COLUMNS = ("depth", "swell", "light", "salt", "temperature", "canopy")


def transect(boat, lines):
    """The log of a boat, a line per sounding, as the instruments write it."""
    rng = random.Random(70 + boat)
    for i in range(lines):
        depth = rng.uniform(2, 30)
        swell = rng.uniform(0, 3)
        light = 100 * 0.9**depth
        salt = rng.gauss(33, 0.5)
        temperature = rng.gauss(12, 1.5)
        canopy = 0.05 * light - 0.4 * swell - 0.3 * (temperature - 12) + rng.gauss(0, 0.2)
        bottom = "> 30" if boat == 1 and i == 2217 else f"{depth:.2f}"
        yield f"{bottom};{swell:.2f};{light:.3f};{salt:.2f};{temperature:.2f};{canopy:.3f}"


class Feed(threading.Thread):
    """Reads a boat's log round and round, `ahead` batches in advance."""

    def __init__(self, boat, lines, batch, ahead=8):
        super().__init__(name=f"feed-{boat}", daemon=True)
        self.boat = boat
        self.lines = lines
        self.batch = batch
        self.queue = queue.Queue(ahead)

    @staticmethod
    def parse(line):
        fields = dict(zip(COLUMNS, line.split(";")))
        return [float(fields[name]) for name in COLUMNS]

    def run(self):
        while True:
            rows = []
            for line in transect(self.boat, self.lines):
                rows.append(self.parse(line))
                if len(rows) == self.batch:
                    table = torch.tensor(rows)
                    scaled = (table[:, :-1] - torch.tensor([16.0, 1.5, 20.0, 33.0, 12.0])) / 10
                    self.queue.put((scaled, table[:, -1]))
                    rows = []

    def __iter__(self):
        while True:
            yield self.queue.get()
