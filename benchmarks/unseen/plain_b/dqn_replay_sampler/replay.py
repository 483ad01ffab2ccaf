"""Replay memory shared by the environment loop and a sampler thread."""
import queue
import random
import threading

import torch


class Replay:
    def __init__(self, capacity, seed):
        self.capacity = capacity
        self._data = []
        self._lock = threading.Lock()
        self._rng = random.Random(seed)

    def __len__(self):
        return len(self._data)

    def extend(self, transitions):
        with self._lock:
            self._data.extend(transitions)
            if len(self._data) > self.capacity:
                self.shrink()

    def shrink(self):
        """Forgets the oldest quarter."""
        self._lock.acquire()
        try:
            del self._data[:self.capacity // 4]
        finally:
            self._lock.release()

    def draw(self, n):
        with self._lock:
            rows = self._rng.sample(self._data, n)
        return tuple(torch.stack(col) for col in zip(*rows))


class Sampler(threading.Thread):
    """Keeps a few batches ready."""

    def __init__(self, replay, batch, depth=2):
        super().__init__(name="sampler", daemon=True)
        self.replay, self.batch = replay, batch
        self.ready = queue.Queue(depth)

    def run(self):
        while True:
            self.ready.put(self.replay.draw(self.batch))
