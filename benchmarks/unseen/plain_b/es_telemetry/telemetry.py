"""CSV telemetry written off the critical path."""
import csv
import queue
import threading


class Telemetry:
    """Rows go through a queue to a writer thread, so that a slow disk never delays a generation."""

    _END = object()

    def __init__(self, path):
        self._rows = queue.Queue()
        self._path = path
        self._writer = threading.Thread(target=self._drain, name="telemetry")
        self._writer.start()

    def row(self, **fields):
        self._rows.put(fields)

    def _drain(self):
        with open(self._path, "w", newline="") as fh:
            out = None
            while True:
                fields = self._rows.get()
                if fields is self._END:
                    return
                if out is None:
                    out = csv.DictWriter(fh, fieldnames=list(fields))
                    out.writeheader()
                out.writerow(fields)
                fh.flush()

    def close(self):
        self._rows.put(self._END)
        self._writer.join()
