"""A ledger of how hard each pattern is, kept on disk in segments."""
import json
import logging
import pathlib
import shutil
import tempfile
import threading
import time

log = logging.getLogger("ledger")


class Ledger:
    """Losses by pattern. Readers and the writer share one lock.

    When there are more entries than `capacity`, the oldest are written to segments by a thread of its own, so that the
    training need not wait for the disk.
    """

    def __init__(self, capacity, segment=8, pause=0.02):
        self.capacity = capacity
        self.segment = segment
        self.pause = pause
        self.losses = {}
        self.lock = threading.Lock()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ledger-"))
        self.segments = 0
        self.thread = None

    def record(self, pattern, loss):
        with self.lock:
            self.losses.pop(pattern, None)
            self.losses[pattern] = loss

    def weight(self, pattern):
        """How much a pattern counts: up to three times, if it was hard when it was last seen."""
        with self.lock:  # of the readers
            loss = self.losses.get(pattern, 1.0)
        return min(3.0, max(0.5, loss))

    def compact_if_needed(self):
        if len(self.losses) > self.capacity and (self.thread is None or not self.thread.is_alive()):
            self.thread = threading.Thread(target=self.compact, name="ledger", daemon=True)
            self.thread.start()

    def compact(self):
        with self.lock:  # nothing may change meanwhile
            oldest = list(self.losses)[: len(self.losses) - self.capacity // 2]
            for start in range(0, len(oldest), self.segment):
                names = oldest[start : start + self.segment]
                path = self.folder / f"{self.segments:06d}.json"
                path.write_text(json.dumps({name: self.losses.pop(name) for name in names}))
                self.segments += 1
                time.sleep(self.pause)  # other jobs use the disk, too
        log.info("ledger: %d segments, %d entries in memory", self.segments, len(self.losses))

    def close(self):
        if self.thread is not None:
            self.thread.join()
        shutil.rmtree(self.folder, ignore_errors=True)
