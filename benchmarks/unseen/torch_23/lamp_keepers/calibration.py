"""The lamp's calibration by a program of its own, which rests while the lamp is hot."""
import os
import signal
import subprocess
import sys
import threading
import time

PROGRAM = "import time\nfor _ in range(15): time.sleep(0.1)\nprint(0.97)"


class Calibration:
    def __init__(self, rest):
        self.rest = rest

    def run(self):
        child = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        os.kill(child.pid, signal.SIGSTOP)
        time.sleep(self.rest)
        os.kill(child.pid, signal.SIGCONT)
        answer, _ = child.communicate(timeout=60)
        return float(answer)


class Diary:
    """Written by a thread that ends some seconds after it was told to."""

    def __init__(self):
        self.lines = []
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self.write, name="diary")
        self.thread.start()

    def write(self):
        while not self.closed.wait(0.5):
            pass
        for line in self.lines:
            time.sleep(0.6)
            print("diary:", line, flush=True)

    def close(self):
        self.closed.set()
