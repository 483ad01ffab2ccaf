"""Reads of drone images from a store that is busy now and then, and signs of life of the processes."""
import logging
import random
import threading
import time

import torch

log = logging.getLogger("saffron")


class Busy(Exception):
    pass


class ImageStore:
    """The images of one field. Requests in quick succession are turned down for a while."""

    def __init__(self, field, busy_after=()):
        self.field = field
        self.busy_after = dict(busy_after)
        self.requests = 0

    def get(self, number, size):
        self.requests += 1
        if self.busy_after.get(number, 0) > 0:
            self.busy_after[number] -= 1
            raise Busy(f"field {self.field}, image {number}")
        generator = torch.Generator().manual_seed(1000 * self.field + number)
        flowers = int(torch.randint(2, 40, (1,), generator=generator))
        tiles = torch.randn(size, 18, generator=generator) + 0.05 * flowers
        return tiles, torch.full((size,), flowers / 40.0)


def read(store, number, size, attempts=6, first=0.5, rng=random.Random(0)):
    """One image, with longer and longer pauses between the attempts."""
    pause = first
    for attempt in range(attempts):
        try:
            return store.get(number, size)
        except Busy as error:
            log.warning("%s is not to be had (%d), again in %.1f s", error, attempt + 1, pause)
            time.sleep(pause + 0.05 * rng.random())
            pause *= 2.0
    raise TimeoutError(f"image {number} of field {store.field}")


class SignsOfLife(threading.Thread):
    """Writes the time of the last step to the store of the job, once in a second."""

    def __init__(self, store, rank):
        super().__init__(daemon=True)
        self.store, self.rank = store, rank
        self.step = 0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(1.0):
            self.store.set(f"alive/{self.rank}", f"{self.step}")

    def close(self):
        self.over.set()
        self.join()
