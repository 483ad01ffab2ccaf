"""Writes the network for the sorting machine: a child process converts it, as the converter leaks memory."""
import logging
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import torch

log = logging.getLogger("export")

CONVERTER = """
import pathlib, sys, time
attempt, source, target = int(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
time.sleep(1.5)
if attempt == 0:
    sys.exit("converter: the licence server is busy")
time.sleep(2.5)
target.write_bytes(source.read_bytes()[::-1])
"""


class Exporter:
    def __init__(self, attempts=3, pause=1.0):
        self.attempts, self.pause = attempts, pause
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lentil_"))
        self.sizes = []

    def export(self, network, name):
        source, target = self.folder / f"{name}.pt", self.folder / f"{name}.bin"
        torch.save(network.state_dict(), source)
        for attempt in range(self.attempts):
            command = [sys.executable, "-c", CONVERTER, str(attempt), str(source), str(target)]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode == 0:
                self.sizes.append(target.stat().st_size)
                return target
            log.warning("attempt %d: %s", attempt, result.stderr.strip())
            time.sleep(self.pause)
        raise RuntimeError(f"{name} could not be converted")


class Mirror:
    """Copies files to the second machine in a thread that the program waits for at its end."""

    def __init__(self, seconds_per_file=2.0):
        self.seconds_per_file = seconds_per_file
        self.threads = []

    def copy(self, path):
        thread = threading.Thread(target=self._copy, args=(path,), name=f"mirror-{path.name}")
        thread.start()
        self.threads.append(thread)

    def _copy(self, path):
        data = path.read_bytes()
        time.sleep(self.seconds_per_file)
        path.with_suffix(".copy").write_bytes(data)
