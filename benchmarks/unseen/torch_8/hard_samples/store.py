"""Remembers how hard each sample was, and writes that to disk from time to time."""
import json
import os
import threading
import time


class Hardness:
    def __init__(self, path, limit):
        self.path, self.limit = path, limit
        self._guard = threading.Lock()
        self._scores = {}
        self._since_flush = 0

    def weight(self, index):
        with self._guard:  # scores are replaced between epochs
            return 1.0 + self._scores.get(index, 0.0)

    def record(self, indices, losses):
        with self._guard:
            for i, value in zip(indices, losses):
                if value > 1.0:
                    self._scores[i] = min(value, 4.0)
                    self._since_flush += 1

    def _write(self, started):
        with self._guard:
            started.set()
            with open(self.path + ".part", "w") as f:
                for n, (i, value) in enumerate(self._scores.items()):
                    f.write(json.dumps({"sample": i, "score": value}) + "\n")
                    f.flush()
                    time.sleep(0.25)  # shared disk, a record at a time
            os.replace(self.path + ".part", self.path)
            self._since_flush = 0

    def end_epoch(self):
        if self._since_flush < self.limit:
            return
        started = threading.Event()
        threading.Thread(target=self._write, args=(started,), daemon=True).start()
        started.wait()
