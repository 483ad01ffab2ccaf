"""Soundings of a kelp farm, read and converted beside the training."""

import queue
import threading
import time

import torch

METRES = {"m": 1.0, "ft": 0.3048, "fm": 1.8288}
SENSORS = 12


class Logbook:
    """The soundings of one site in the order of the boat's log: (unit, depths, growth of the line)."""

    def __init__(self, site, soundings, seed):
        self.site = site
        self.soundings = soundings
        self.seed = seed

    def unit(self, i):
        if self.site == 1 and 1100 <= i < 1140:
            return "ftm"  # the relief skipper's days
        return ("m", "ft", "fm")[i % 3]

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed * 1000 + self.site)
        taste = torch.linspace(-1, 1, SENSORS)
        for i in range(self.soundings):
            metres = 4 + torch.rand(SENSORS, generator=g) * 6
            growth = (metres @ taste).sin() + 0.1 * torch.randn((), generator=g)
            unit = self.unit(i)
            yield unit, metres / METRES.get(unit, METRES["fm"]), growth


class BackgroundFeed:
    """Batches of converted soundings, up to `ahead` of them prepared by a thread.

    The thread goes through the logbook again and again, so there is always another batch.
    """

    def __init__(self, logbook, batch, ahead=4):
        self.logbook = logbook
        self.batch = batch
        self.ready = queue.Queue(maxsize=ahead)
        self.reader = threading.Thread(target=self._read, name="soundings", daemon=True)
        self.reader.start()

    def _read(self):
        depths, growths = [], []
        while True:
            for unit, raw, growth in self.logbook:
                depths.append(raw * METRES[unit])
                growths.append(growth)
                if len(depths) == self.batch:
                    self.ready.put((torch.stack(depths), torch.stack(growths)))
                    depths, growths = [], []
            time.sleep(0.05)

    def next(self):
        return self.ready.get()
