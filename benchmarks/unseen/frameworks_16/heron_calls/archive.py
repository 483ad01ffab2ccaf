import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch

PACK = """
import gzip, sys, time
source, target = sys.argv[1:]
data = open(source, "rb").read()
with gzip.open(target, "wb") as out:
    for i in range(0, len(data), 1024):
        out.write(data[i : i + 1024])
        time.sleep(0.25)
"""


class Heartbeat(threading.Thread):
    """Notes every two seconds how far the run is."""

    def __init__(self, describe):
        super().__init__(daemon=True)
        self.describe = describe
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(2.0):
            print(self.describe(), flush=True)

    def close(self):
        self.ended.set()
        self.join()


def pack(model):
    """Writes the weights and compresses them in a process of its own; returns size and seconds."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.pt", Path(folder) / "model.pt.gz"
        torch.save(model.state_dict(), source)
        subprocess.run([sys.executable, "-c", PACK, str(source), str(target)], check=True)
        return target.stat().st_size, time.monotonic() - begin
