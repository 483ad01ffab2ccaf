import os
import time


class Lease:
    """A seat of a licensed simulator: a file that only one process may create."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        delay = 0.1
        while True:
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
                return self
            except FileExistsError:
                time.sleep(delay)
                delay = min(delay * 1.5, 1.0)

    def __exit__(self, *exc):
        os.unlink(self.path)
