"""The catalogue: made by a program of its own on the main process, and watched by a thread."""

import logging
import subprocess
import sys
import threading

log = logging.getLogger("glass")

BINDER = """
import sys, time
attempt, epoch = map(int, sys.argv[1:])
time.sleep(0.8)
if attempt == 0 and epoch == 1:
    sys.exit("no paper")
for page in range(6):
    time.sleep(0.3)
    print(f"page {page} of issue {epoch}")
"""


def bind(epoch, attempts=3):
    """Prints an issue of the catalogue; the printer may be out of paper."""
    for attempt in range(attempts):
        done = subprocess.run(
            [sys.executable, "-c", BINDER, str(attempt), str(epoch)], capture_output=True, text=True, timeout=60
        )
        if done.returncode == 0:
            return len(done.stdout.splitlines())
        log.info("issue %d: %s", epoch, done.stderr.strip())
    raise RuntimeError(f"issue {epoch} could not be printed")


class Warden(threading.Thread):
    """Says now and then that the workshop is open, until it is told to close."""

    def __init__(self, every=2.5):
        super().__init__(name="warden")
        self.every = every
        self.closing = threading.Event()
        self.rounds = 0

    def run(self):
        while not self.closing.wait(self.every):
            self.rounds += 1
            log.info("round %d: all quiet", self.rounds)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.closing.set()
        self.join()
