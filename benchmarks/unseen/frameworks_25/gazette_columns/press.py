"""What happens beside training: proofs that are set in another program, and a clerk who writes the journal."""

import logging
import queue
import subprocess
import sys
import threading
import time

log = logging.getLogger("press")

SETTER = """
import sys, time
if sys.argv[1] == "0":
    sys.exit("no type left")
time.sleep(float(sys.argv[2]))
print("set", sys.argv[1])
"""


def set_proof(takes, attempts=3):
    """Sets a proof; the first attempt fails when the case has run out of type."""
    for attempt in range(attempts):
        command = [sys.executable, "-c", SETTER, str(attempt), str(takes)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
        log.info("again: %s", done.stderr.strip())
        time.sleep(1)
    raise RuntimeError("no proof")


class Clerk:
    """Writes entries one after the other, slowly; close() waits until the last one is written."""

    def __init__(self, path, pause=0.3):
        self.path = path
        self.pause = pause
        self.entries = queue.Queue()
        self.thread = threading.Thread(target=self.write, name="clerk")
        self.thread.start()

    def write(self):
        while (entry := self.entries.get()) is not None:
            time.sleep(self.pause)
            with open(self.path, "a") as journal:
                journal.write(entry + "\n")

    def note(self, entry):
        self.entries.put(entry)

    def close(self):
        self.entries.put(None)
        self.thread.join()
