"""Episode memory shared by the collector thread and the learner."""
import collections
import contextlib
import random
import threading
import time


class Replay:
    def __init__(self, capacity, keep=0.75):
        self._lock = threading.Lock()
        self._rows = collections.deque()
        self.capacity = capacity
        self.keep = keep
        self.spent = collections.Counter()

    @contextlib.contextmanager
    def _timer(self, what):
        start = time.perf_counter()
        yield
        self.spent[what] += time.perf_counter() - start

    def __len__(self):
        return len(self._rows)

    def extend(self, transitions):
        with self._lock, self._timer("extend"):
            self._rows.extend(transitions)
            if len(self._rows) > self.capacity:
                self.shrink()

    def shrink(self):
        """Drop the oldest rows; also called between phases by the learner."""
        with self._lock:
            while len(self._rows) > self.capacity * self.keep:
                self._rows.popleft()

    def draw(self, n, rng: random.Random):
        with self._lock, self._timer("draw"):
            return rng.sample(list(self._rows), n)
