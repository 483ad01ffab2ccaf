"""Callbacks that watch the memory of the ranks."""

import logging
import os
import pathlib
import subprocess
import sys

from lightning.pytorch.callbacks import Callback

log = logging.getLogger(__name__)
TOOL = pathlib.Path(__file__).with_name("freeze.py")


def kilobytes():
    """Resident size of this process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


class MemoryMaps(Callback):
    """Takes a memory map of each rank every `every` batches, with the ages of the batch in its header."""

    def __init__(self, folder, every=15):
        self.folder = pathlib.Path(folder)
        self.every = every
        self.taken = 0

    def take(self, ages):
        command = [sys.executable, str(TOOL), str(os.getpid()), str(self.folder)]
        subprocess.run(command + [f"{age:.0f}" for age in ages], stderr=subprocess.DEVNULL)
        self.taken += 1

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if batch_idx % self.every == self.every - 1:
            self.take((batch[1] * pl_module.oldest).tolist())

    def on_train_end(self, trainer, pl_module):
        log.warning("rank %d: %d maps, %d kB resident", trainer.global_rank, self.taken, kilobytes())
        (self.folder / f"map_{os.getpid()}.txt").unlink(missing_ok=True)
