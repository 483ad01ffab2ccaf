"""Packs the weights for the trams' computers in a process of its own."""
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

PACKER = r"""
import sys, time
from pathlib import Path
source, target, attempt = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
time.sleep(1.2)
if attempt == 0:
    sys.exit("no licence at the moment")
data = source.read_bytes()
with target.open("wb") as out:
    for start in range(0, len(data), 1024):
        out.write(data[start : start + 1024])
        out.flush()
        time.sleep(0.25)
"""


class Packer:
    def __init__(self, attempts=3):
        self.attempts = attempts
        self.seconds = 0.0

    def pack(self, model, name):
        """Returns the number of bytes of the packed file."""
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="tram_bells_") as folder:
            source, target = pathlib.Path(folder, "weights.pt"), pathlib.Path(folder, name)
            torch.save(model.state_dict(), source)
            for attempt in range(self.attempts):
                command = [sys.executable, "-c", PACKER, str(source), str(target), str(attempt)]
                if subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0:
                    break
            else:
                raise RuntimeError("the packer has no licence")
            size = target.stat().st_size
        self.seconds += time.monotonic() - begun
        return size
