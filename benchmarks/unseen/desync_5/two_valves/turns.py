import threading
from contextlib import contextmanager


class Turns:
    """Numbered turns, dealt to the threads by a pattern that is the same everywhere."""

    def __init__(self, pattern):
        self.pattern = pattern
        self.number = 0
        self.changed = threading.Condition()

    def owner(self):
        return self.pattern[self.number % len(self.pattern)]

    @contextmanager
    def turn(self, name):
        with self.changed:
            self.changed.wait_for(lambda: self.owner() == name)
            yield self.number
            self.number += 1
            self.changed.notify_all()
