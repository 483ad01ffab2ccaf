"""What a clock needs besides its training: a calibration program, and the journal."""
import logging
import subprocess
import sys
import threading
import time
import queue

log = logging.getLogger("tower")

# the program reads the chronometer, which may be in use by another tower
CALIBRATE = """
import sys, time
attempt = int(sys.argv[1])
if attempt < 3:
    time.sleep(0.7)
    sys.exit("the chronometer is in use")
time.sleep(3.0)
print(1.0 + 1e-4 * attempt)
"""


def calibrate(attempts=5, pause=0.8):
    """Factor of the clock's escapement, by a program of its own that is tried again with growing pauses."""
    for attempt in range(1, attempts + 1):
        done = subprocess.run(
            [sys.executable, "-S", "-c", CALIBRATE, str(attempt)], capture_output=True, text=True, timeout=20
        )
        if done.returncode == 0:
            return float(done.stdout)
        log.warning("attempt %d: %s", attempt, done.stderr.strip())
        time.sleep(pause * attempt)
    raise RuntimeError("no chronometer")


class Journal(threading.Thread):
    """Engraves one line after the other; the last lines are engraved after the training, in peace."""

    def __init__(self, seconds_per_line):
        super().__init__(name="journal")
        self.seconds_per_line = seconds_per_line
        self.lines = queue.Queue()
        self.engraved = []

    def run(self):
        while (line := self.lines.get()) is not None:
            time.sleep(self.seconds_per_line)
            self.engraved.append(line)
        log.info("journal: %d lines", len(self.engraved))
