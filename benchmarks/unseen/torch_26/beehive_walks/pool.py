"""Flights of many bees at once, in threads."""
import threading
from concurrent.futures import ThreadPoolExecutor


class Latch:
    """Opens when it has been counted down to zero."""

    def __init__(self, count):
        self.count = count
        self.changed = threading.Condition()

    def count_down(self):
        with self.changed:
            self.count -= 1
            if self.count == 0:
                self.changed.notify_all()

    def wait(self):
        with self.changed:
            while self.count > 0:
                self.changed.wait()


class FlightPool:
    """Collects the flights of one day; the order in which they end does not matter."""

    def __init__(self, meadow, threads):
        self.meadow = meadow
        self.executor = ThreadPoolExecutor(threads, thread_name_prefix="bee")

    def _fly(self, policy, day, bee, flights, latch):
        flights[bee] = self.meadow.flight(policy, day, bee)
        latch.count_down()

    def collect(self, policy, day, bees):
        flights = [None] * bees
        latch = Latch(bees)
        for bee in range(bees):
            self.executor.submit(self._fly, policy, day, bee, flights, latch)
        latch.wait()
        return flights

    def close(self):
        self.executor.shutdown()
