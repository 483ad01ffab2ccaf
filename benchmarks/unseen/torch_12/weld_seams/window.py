"""Running values of the last steps; a thread may read them while the training adds to them."""
import threading
from collections import deque


class Window:
    def __init__(self, size, spike=4.0):
        self.values = deque(maxlen=size)
        self.spike = spike
        self.spikes = []
        self._lock = threading.Lock()

    def mean(self):
        with self._lock:
            return sum(self.values) / max(len(self.values), 1)

    def add(self, step, value):
        self._lock.acquire()
        try:
            if len(self.values) == self.values.maxlen and self.is_spike(value):
                self.spikes.append((step, value))
            self.values.append(value)
        finally:
            self._lock.release()

    def is_spike(self, value):
        if value < 1.0:
            return False
        return value > self.spike * self.mean()
