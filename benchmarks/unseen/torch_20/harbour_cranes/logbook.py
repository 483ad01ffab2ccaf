"""The harbour's logbook: one file for all quays, under a lock of the kernel, and sheets that are packed afterwards."""
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

PACK = """
import sys, time, zlib
lines = sys.stdin.read().encode()
for level in range(1, 9):
    packed = zlib.compress(lines, level)
    time.sleep(0.4)
if len(packed) > int(sys.argv[1]):
    sys.exit(3)
print(len(packed))
"""


class Logbook:
    def __init__(self, quay):
        self.quay = quay
        self.path = pathlib.Path(tempfile.gettempdir()) / f"harbour-{os.environ['MASTER_PORT']}.jsonl"
        self.followed = 0
        self.closing = threading.Event()
        self.follower = threading.Thread(target=self.follow, name="follower")

    def open(self):
        if self.quay == 0:
            self.path.write_text("")
            self.follower.start()

    def follow(self):
        """Counts lines for the display at the gate, once a second, and a last time some seconds after closing."""
        while not self.closing.wait(1.0):
            self.followed = len(self.path.read_text().splitlines())
        for _ in range(3):
            time.sleep(1.0)
            self.followed = len(self.path.read_text().splitlines())
        self.path.unlink()
        print(f"{self.followed} lines in the logbook", flush=True)

    def enter(self, day, losses):
        """One quay writes at a time; each line is synced, as the harbour office asks."""
        with open(self.path, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for start in range(0, len(losses), 20):
                file.write(json.dumps({"quay": self.quay, "day": day, "losses": losses[start : start + 20]}) + "\n")
                file.flush()
                os.fsync(file.fileno())
                time.sleep(0.15)

    def pack(self):
        """The size of the packed book; a smaller limit is tried first."""
        text = self.path.read_text()
        for limit in (100, 10_000_000):
            done = subprocess.run([sys.executable, "-c", PACK, str(limit)], input=text, capture_output=True, text=True)
            if done.returncode == 0:
                return int(done.stdout)
        return None

    def close(self):
        self.closing.set()
