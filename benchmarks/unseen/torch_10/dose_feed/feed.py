"""Treatment records are parsed in a thread, so that training does not wait for it."""

import queue
import threading

import torch

UNITS = {"Gy": 1.0, "cGy": 0.01, "mGy": 0.001}


def parse(line):
    *numbers, dose, unit = line.split(";")
    features = torch.tensor([float(n) for n in numbers])
    return features, torch.tensor([float(dose) * UNITS[unit]])


class RecordFeed:
    """Endless batches of one clinic's records."""

    def __init__(self, source, batch_size, depth=4):
        self.source = source
        self.batch_size = batch_size
        self.ready = queue.Queue(maxsize=depth)
        self.thread = threading.Thread(target=self._fill, name="parser", daemon=True)
        self.thread.start()

    def _fill(self):
        batch = []
        for line in self.source:
            batch.append(parse(line))
            if len(batch) == self.batch_size:
                x, y = zip(*batch)
                self.ready.put((torch.stack(x), torch.stack(y)))
                batch = []

    def __iter__(self):
        return self

    def __next__(self):
        return self.ready.get()
