import csv
import queue
import threading


class Recorder:
    """Collects rows and leaves the writing to a thread, a block at a time."""

    def __init__(self, path, block=20):
        self.path = path
        self.block = block
        self.rows = []
        self._blocks = queue.Queue()
        self._thread = threading.Thread(target=self._write, name="recorder")
        self._thread.start()

    def _write(self):
        with open(self.path, "w", newline="") as out:
            writer = csv.writer(out)
            while True:
                block = self._blocks.get()
                if block is None:
                    return
                writer.writerows(block)
                out.flush()

    def add(self, *row):
        self.rows.append(row)
        if len(self.rows) == self.block:
            self._blocks.put(self.rows)
            self.rows = []

    def finish(self):
        if not self.rows:
            return
        self._blocks.put(self.rows)
        self._blocks.put(None)
