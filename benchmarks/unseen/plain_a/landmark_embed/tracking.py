"""Writes metrics in the background, so that a slow disk does not slow the steps."""
import json
import queue
import threading
import time


class NullTracker:
    def log(self, step, **values):
        pass

    def finish(self):
        pass


class RunTracker:
    def __init__(self, root):
        self._queue = queue.Queue()
        self._path = f"{root}/metrics.jsonl"
        self._thread = threading.Thread(target=self._consume, name="tracker")
        self._thread.start()

    def log(self, step, **values):
        self._queue.put({"step": step, "time": time.time(), **values})

    def finish(self):
        self._queue.put(None)
        self._thread.join()

    def _consume(self):
        with open(self._path, "a") as out:
            while True:
                record = self._queue.get()
                if record is None:
                    break
                out.write(json.dumps(record) + "\n")
                out.flush()
