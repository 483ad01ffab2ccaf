import math
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

# share of the rated power for wind speeds in bins of 2 m/s
POWER_CURVE = [0.0, 0.0, 0.04, 0.14, 0.33, 0.58, 0.83, 0.97, 1.0, 1.0, 1.0, 1.0, 0.0]


class Turbine:
    """Hourly wind at one site, a yaw angle chosen by the old controller, and the power that results."""

    def __init__(self, site, seed):
        self.site = site
        self.hour = 0
        self.rng = torch.Generator().manual_seed(seed)

    def _speed(self):
        s = self.site
        gust = s["storm"] if self.hour >= s["storm_hour"] else 0.0
        return s["mean"] + s["swing"] * math.sin(self.hour / 5.0) + gust

    def advance(self):
        speed = self._speed()
        yaw = (torch.rand(1, generator=self.rng).item() - 0.5) * 40
        power = POWER_CURVE[int(speed // 2)] * math.cos(math.radians(yaw)) ** 3
        obs = [speed / 10, yaw / 20, math.sin(self.hour / 24), math.cos(self.hour / 24)]
        self.hour += 1
        return obs, power


class RolloutFeed:
    """Keeps a few rollouts ready; a worker thread plays them while the learner computes."""

    def __init__(self, turbine, horizon=16, depth=3):
        self.turbine = turbine
        self.horizon = horizon
        self._ready = queue.Queue(maxsize=depth)
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rollout")
        self._job = self._pool.submit(self._produce)

    def _play(self):
        rows = [self.turbine.advance() for _ in range(self.horizon)]
        obs = torch.tensor([o for o, _ in rows])
        power = torch.tensor([p for _, p in rows])
        return obs, power

    def _produce(self):
        while not self._stop.is_set():
            rollout = self._play()
            while not self._stop.is_set():
                try:
                    self._ready.put(rollout, timeout=0.5)
                    break
                except queue.Full:
                    continue

    def __iter__(self):
        return self

    def __next__(self):
        return self._ready.get()

    def close(self):
        self._stop.set()
        self._pool.shutdown(wait=True)
