"""One file for what is noteworthy in a run, written by several processes."""

import fcntl
import json
import time


class Ledger:
    """Records are appended under an exclusive lock, so that lines of different processes do not mix."""

    def __init__(self, path):
        self.handle = open(path, "a")

    def __enter__(self):
        fcntl.flock(self.handle, fcntl.LOCK_EX)
        return self

    def __exit__(self, *error):
        self.handle.flush()
        fcntl.flock(self.handle, fcntl.LOCK_UN)
        self.handle.close()

    def write(self, kind, **values):
        self.handle.write(json.dumps({"kind": kind, "time": time.time(), **values}) + "\n")


def report_outlier(path, rank, step, values):
    with Ledger(path) as ledger:
        for value in values:
            ledger.write("outlier", rank=rank, step=step, value=round(value, 3))
