"""Publishing of intermediate models to the institute's share."""

import logging
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
from lightning.pytorch.callbacks import Callback

log = logging.getLogger("publish")

# the share's own tool: refuses while its index is being rebuilt, and copies slowly
COPY = """
import pathlib, shutil, sys, time
source, target, attempt = sys.argv[1:]
if attempt == "0":
    time.sleep(1.0)
    sys.exit("index is being rebuilt")
time.sleep(2.5)
shutil.copy(source, target)
"""


class Publisher(Callback):
    """Copies the weights after each validation of the listed epochs; the run goes on when the copy is there."""

    def __init__(self, epochs, attempts=3):
        self.epochs = set(epochs)
        self.attempts = attempts
        self.share = Path(tempfile.mkdtemp(prefix="kelp-"))

    def copy(self, source, target):
        for attempt in range(self.attempts):
            done = subprocess.run([sys.executable, "-c", COPY, str(source), str(target), str(attempt)])
            if done.returncode == 0:
                return
            log.warning("the share refused %s", target.name)
            time.sleep(1.5 * (attempt + 1))
        raise RuntimeError(f"{target} could not be published")

    def on_validation_end(self, trainer, pl_module):
        if trainer.sanity_checking or trainer.current_epoch not in self.epochs:
            return
        if trainer.is_global_zero:
            source = self.share / "model.part"
            torch.save(pl_module.state_dict(), source)
            self.copy(source, self.share / f"model-{trainer.current_epoch}.pt")
        trainer.strategy.barrier("published")


class Journal(Callback):
    """A thread writes the losses of a process to a slow disk; what is left is written at the end."""

    def __init__(self, delay=0.04):
        self.delay = delay
        self.entries = queue.Queue()
        self.written = 0

    def setup(self, trainer, pl_module, stage):
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        while (entry := self.entries.get()) is not None:
            time.sleep(self.delay)
            self.written += len(str(entry))

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_rank == 1:
            self.entries.put((trainer.global_step, outputs["loss"].item()))

    def teardown(self, trainer, pl_module, stage):
        self.entries.put(None)
        self.thread.join()
        log.info("journal of process %d: %d characters", trainer.global_rank, self.written)
