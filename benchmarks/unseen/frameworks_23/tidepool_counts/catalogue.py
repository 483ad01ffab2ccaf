"""Publishing a season's counts: a converter in a child process, and a slow notice board that is filled in the background."""

import subprocess
import sys
import threading
import time

CONVERTER = """
import sys, time
attempt, pools = int(sys.argv[1]), int(sys.argv[2])
time.sleep(1.5)
if attempt == 0:
    sys.exit("scratch is busy")
for pool in range(pools):
    time.sleep(0.25)
print(pools)
"""


def convert(pools, attempts=3):
    """Runs the converter, again after a pause if the scratch disk is busy."""
    for attempt in range(attempts):
        done = subprocess.run(
            [sys.executable, "-c", CONVERTER, str(attempt), str(pools)], capture_output=True, text=True, timeout=60
        )
        if done.returncode == 0:
            return int(done.stdout)
        time.sleep(1 + attempt)
    raise RuntimeError(f"converter: {done.stderr.strip()}")


class Board(threading.Thread):
    """Pins notes to the board, two seconds each; the process does not end before all are pinned."""

    def __init__(self):
        super().__init__(name="board")
        self.notes = []
        self.news = threading.Condition()
        self.closed = False

    def pin(self, note):
        with self.news:
            self.notes.append(note)
            self.news.notify()

    def close(self):
        with self.news:
            self.closed = True
            self.news.notify()

    def run(self):
        while True:
            with self.news:
                self.news.wait_for(lambda: self.notes or self.closed)
                if not self.notes:
                    return
                note = self.notes.pop(0)
            time.sleep(2)
            print(note, flush=True)
