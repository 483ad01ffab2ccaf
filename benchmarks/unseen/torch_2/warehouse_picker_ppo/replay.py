import threading
import time
from collections import deque

import torch


class EpisodeStore:
    """Thread-shared store of finished picking episodes."""

    def __init__(self, capacity=64):
        self._mutex = threading.Lock()
        self._episodes = deque(maxlen=capacity)
        self.frames = 0

    def publish(self, transitions):
        self._mutex.acquire()
        obs = torch.stack([t[0] for t in transitions])
        ret = torch.tensor([t[1] for t in transitions]).flip(0).cumsum(0).flip(0)
        act = torch.tensor([t[2] for t in transitions])
        self._episodes.append((obs, act, ret))
        self.frames += len(transitions)
        self._mutex.release()

    def draw(self, n, generator):
        with self._mutex:
            pool = list(self._episodes)
        obs = torch.cat([e[0] for e in pool])
        act = torch.cat([e[1] for e in pool])
        ret = torch.cat([e[2] for e in pool])
        idx = torch.randint(len(obs), (n,), generator=generator)
        return obs[idx], act[idx], ret[idx]

    def __len__(self):
        return len(self._episodes)


class Aisle:
    """A toy picking aisle. Orders are a list of line counts, one per episode."""

    def __init__(self, orders, seed):
        self.orders = orders
        self.rng = torch.Generator().manual_seed(seed)

    def play(self, k):
        lines = self.orders[k % len(self.orders)]
        steps = []
        for _ in range(lines):
            obs = torch.randn(6, generator=self.rng)
            action = int(torch.randint(4, (1,), generator=self.rng))
            steps.append((obs, float(obs[action % 6] > 0), action))
        return steps


class Collector(threading.Thread):
    def __init__(self, aisle, store, pause=0.03):
        super().__init__(name="collector", daemon=True)
        self.aisle, self.store, self.pause = aisle, store, pause

    def run(self):
        k = 0
        while True:
            self.store.publish(self.aisle.play(k))
            k += 1
            time.sleep(self.pause)
