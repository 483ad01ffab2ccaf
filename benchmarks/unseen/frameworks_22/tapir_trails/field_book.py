"""The field book: entries are written by a thread, a page at a time, and each page by a program of its own."""

import logging
import queue
import subprocess
import sys
import threading
import time

log = logging.getLogger(__name__)

BINDER = """
import sys, time
time.sleep(float(sys.argv[1]))
print(len(sys.stdin.read().splitlines()), "entries bound")
sys.exit(int(sys.argv[2]))
"""


class FieldBook:
    def __init__(self):
        self.entries = queue.Queue()
        self.lines = []
        self.thread = threading.Thread(target=self.write, name="field-book")
        self.thread.start()

    def add(self, text):
        self.entries.put(text)

    def write(self):
        while True:
            text = self.entries.get()
            if text is None:
                break
            time.sleep(0.35)  # the ink dries
            self.lines.append(text)

    def bind(self, seconds, attempts=2):
        """Has the book bound; the first attempt fails as a rule."""
        for attempt in range(attempts):
            status = 1 if attempt == 0 else 0
            command = [sys.executable, "-c", BINDER, str(seconds), str(status)]
            done = subprocess.run(command, input="\n".join(self.lines), text=True, capture_output=True)
            if done.returncode == 0:
                return done.stdout.strip()
            log.warning("the binder failed, once more")
        return "not bound"

    def close(self):
        self.entries.put(None)
