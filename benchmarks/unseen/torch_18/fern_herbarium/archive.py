"""Archive of a run: written by a thread, packed by a program of its own."""
import logging
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

import torch

log = logging.getLogger("archive")

PACK = r"""
import sys, time, zlib
data = open(sys.argv[1], "rb").read()
packer, size = zlib.compressobj(9), 0
for start in range(0, len(data), 2048):
    size += len(packer.compress(data[start:start + 2048]))
    time.sleep(0.5)
print(size + len(packer.flush()))
"""


class Archive:
    """States are handed over to a thread, which is no daemon: what was handed over is written before the end."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="fern_herbarium_")
        self.pending = queue.Queue()
        self.thread = threading.Thread(target=self.work, name="archive")
        self.thread.start()

    def put(self, name, state):
        self.pending.put((name, {key: value.clone() for key, value in state.items()}))

    def finish(self):
        self.pending.put(None)

    def work(self):
        while (entry := self.pending.get()) is not None:
            name, state = entry
            path = os.path.join(self.folder.name, name)
            torch.save(state, path)
            started = time.monotonic()
            packed = subprocess.run([sys.executable, "-c", PACK, path], capture_output=True, text=True, check=True)
            log.info("%s packed to %d bytes in %.1f s", name, int(packed.stdout), time.monotonic() - started)
        self.folder.cleanup()
