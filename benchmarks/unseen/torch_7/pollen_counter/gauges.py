import json
import os
import queue
import tempfile
import threading
import time


class Sink:
    def write(self, row):
        raise NotImplementedError

    def close(self):
        pass


class Silent(Sink):
    def write(self, row):
        pass


class Station(Sink):
    """Rows go to a file in batches, outside the training thread."""

    def __init__(self, name):
        self.path = os.path.join(tempfile.mkdtemp(prefix="pollen"), name + ".jsonl")
        self.rows = queue.SimpleQueue()
        self.writer = threading.Thread(target=self._drain, name="station-writer")
        self.writer.start()

    def write(self, row):
        self.rows.put(dict(row, at=time.time()))

    def _drain(self):
        with open(self.path, "w") as out:
            while (row := self.rows.get()) is not None:
                out.write(json.dumps(row) + "\n")
                out.flush()


def sink_for(rank, chosen):
    return Station(f"worker{rank}") if rank == chosen else Silent()
