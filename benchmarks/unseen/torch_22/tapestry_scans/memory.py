"""A limit for the memory that the data workers of a process use for decoded scans together."""
import contextlib
import math
import multiprocessing

UNIT = 24 * 24


class MemoryBudget:
    """Permits for units of memory, shared by the workers. A scan is decoded while the worker has permits for it.

    Without the limit, two workers that decode large scans at the same time have taken a whole machine with them.
    """

    def __init__(self, units):
        self.units = units
        self.permits = multiprocessing.Semaphore(units)

    @staticmethod
    def needed(height, width):
        return math.ceil(height * width / UNIT)

    def take(self, count):
        for _ in range(count):
            self.permits.acquire()

    def give(self, count):
        for _ in range(count):
            self.permits.release()

    @contextlib.contextmanager
    def reserved(self, height, width):
        count = self.needed(height, width)
        self.take(count)
        try:
            yield count
        finally:
            self.give(count)

    def __repr__(self):
        return f"MemoryBudget({self.units} units of {UNIT} pixels)"
