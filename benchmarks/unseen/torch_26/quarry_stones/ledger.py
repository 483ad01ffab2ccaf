"""Bookkeeping beside the training: a writer in a thread, and the export by a program of its own."""
import pathlib
import queue
import subprocess
import sys
import threading
import time

EXPORT = """
import sys, time
total = 0
for line in open(sys.argv[1]):
    total += len(line)
    time.sleep(0.02)
time.sleep(3.0)
print(total)
"""


class SlowShare(threading.Thread):
    """Appends lines to a file on a share that takes its time; ends when it has written all of them."""

    def __init__(self, path, latency):
        super().__init__(name="share")
        self.path = pathlib.Path(path)
        self.latency = latency
        self.lines = queue.Queue()
        self.start()

    def write(self, line):
        self.lines.put(line)

    def finish(self):
        self.lines.put(None)

    def run(self):
        with self.path.open("a") as file:
            while (line := self.lines.get()) is not None:
                time.sleep(self.latency)
                file.write(line + "\n")
                file.flush()


def export(path):
    """The sheet for the office, in a process of its own because the library leaks."""
    done = subprocess.run([sys.executable, "-c", EXPORT, str(path)], capture_output=True, text=True, check=True)
    return int(done.stdout)
