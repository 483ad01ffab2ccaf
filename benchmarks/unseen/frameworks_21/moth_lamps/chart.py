"""The chart of a season, kept by one thread of the first process."""

import queue
import threading
import time


class Chart:
    """Points are drawn by a thread, slowly; `close` lets it finish what it has."""

    def __init__(self, pause):
        self.pause = pause
        self.points = queue.Queue()
        self.thread = threading.Thread(target=self._draw, name="chart")
        self.thread.start()
        self.drawn = []

    def add(self, season, value):
        self.points.put((season, value))

    def _draw(self):
        while True:
            point = self.points.get()
            if point is None:
                return
            time.sleep(self.pause)
            self.drawn.append(point)

    def close(self):
        self.points.put(None)
