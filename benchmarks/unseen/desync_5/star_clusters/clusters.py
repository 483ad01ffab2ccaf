import threading
import time

import torch
import torch.distributed as dist


class Centres:
    def __init__(self, count, width):
        self.centres = torch.randn(count, width, generator=torch.Generator().manual_seed(4))

    def table(self, stars):
        """For each centre, the sum of its stars and their number."""
        nearest = torch.cdist(stars, self.centres).argmin(1)
        table = torch.zeros(len(self.centres), stars.shape[1] + 1)
        table[:, :-1].index_add_(0, nearest, stars)
        table[:, -1] += torch.bincount(nearest, minlength=len(self.centres))
        return table

    def move(self, table, rate):
        count = table[:, -1:].clamp(min=1)
        self.centres += rate * (table[:, :-1] / count - self.centres) * (table[:, -1:] > 0)


class Sky:
    """The stars of one field, as the telescope moves over it."""

    def __init__(self, rank, crowded_from=None):
        self.generator = torch.Generator().manual_seed(50 + rank)
        self.crowded_from = crowded_from

    def frame(self, number, width):
        time.sleep(0.016)
        crowded = self.crowded_from is not None and number >= self.crowded_from
        return torch.randn(640 if crowded else 64, width, generator=self.generator)


class Evaluator:
    """How well the centres fit the stars that were put aside; works while the training goes on."""

    def __init__(self, model, pause):
        self.model, self.pause = model, pause
        self.aside, self.shares = [], []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.loop, name="evaluator", daemon=True)

    def put_aside(self, stars):
        self.aside.append(stars)

    def evaluate(self):
        table = 0
        for chunk in torch.cat(self.aside).split(64):
            table = table + self.model.table(chunk)
            time.sleep(0.003)
        dist.all_reduce(table)
        return (table[:, -1].max() / table[:, -1].sum()).item()

    def loop(self):
        while not self.stopped.wait(self.pause):
            self.shares.append(self.evaluate())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.stopped.set()
        self.thread.join()
