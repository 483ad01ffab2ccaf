"""A small process that watches the size of a folder and tells its parent, by SIGUSR1, when it exceeds a quota."""
import os
import signal
import subprocess
import sys

PROGRAM = r"""
import os
import signal
import sys
import time

folder, limit, parent = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
while os.getppid() == parent:
    size = sum(entry.stat().st_size for entry in os.scandir(folder))
    if size > limit:
        os.kill(parent, signal.SIGUSR1)
        break
    time.sleep(0.2)
"""


class Quota:
    """`exceeded` becomes true when the notice has come; the work can then be ended in good order."""

    def __init__(self, folder, limit):
        self.exceeded = False
        signal.signal(signal.SIGUSR1, self.notice)
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), str(limit), str(os.getpid())])

    def notice(self, number, frame):
        self.exceeded = True

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
