"""Reading and packing of proverbs, done ahead of the training on a small pool of threads."""
import itertools
import queue
import random
import time
from concurrent.futures import ThreadPoolExecutor

import torch

ALPHABET = {c: i + 1 for i, c in enumerate("abcdefghijklmnopqrstuvwxyz '")}
WORDS = "a rolling stone gathers no moss still waters run deep the early bird catches worm don't".split()
WIDTH = 40


class Corpus:
    """One line after the other; the collection was typed by many hands."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = itertools.count()

    def __next__(self):
        number = next(self.count)
        line = " ".join(self.random.choices(WORDS, k=9))
        if number == 543:
            line = line.replace(" ", "\u00a0", 1)
        return line

    def __iter__(self):
        return self


class Feeder:
    """Keeps `depth` packed batches ready."""

    def __init__(self, seed, rows, depth=6):
        self.corpus = Corpus(seed)
        self.rows = rows
        self.ready = queue.Queue(maxsize=depth)
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="feeder")
        self.pool.submit(self._fill)

    def encode(self, line):
        ids = [ALPHABET[c] for c in line[:WIDTH]]
        return ids + [0] * (WIDTH - len(ids))

    def _fill(self):
        while True:
            lines = [next(self.corpus) for _ in range(self.rows)]
            self.ready.put(torch.tensor([self.encode(line) for line in lines]))
            time.sleep(0.06)

    def next_batch(self):
        return self.ready.get()
