"""Things that happen beside the training of the melt model."""

import logging
import queue
import subprocess
import sys
import threading
import time

from lightning.pytorch.callbacks import Callback

log = logging.getLogger("melt")

RUNOFF = """
import sys, time
level, hours = float(sys.argv[1]), 0
end = time.time() + float(sys.argv[2])
while time.time() < end:
    level += 0.001 * (1.0 - level)
    hours += 1
    time.sleep(0.01)
print(round(level, 4))
"""


class RunoffModel(Callback):
    """After a validation, one process runs the old runoff model for comparison and waits for its answer."""

    def __init__(self, rank, seconds):
        self.rank = rank
        self.seconds = seconds

    def on_validation_end(self, trainer, pl_module):
        if trainer.sanity_checking or trainer.global_rank != self.rank:
            return
        level = trainer.callback_metrics["val_loss"].item()
        command = [sys.executable, "-c", RUNOFF, str(level), str(self.seconds)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        log.info("epoch %d: runoff model says %s", trainer.current_epoch, answer)


class Courier(Callback):
    """Delivers the figures of each epoch to the station, whose line is down now and then; a thread tries again."""

    def __init__(self, pause=1.5, tries=3):
        self.pause = pause
        self.tries = tries
        self.letters = queue.Queue()
        self.delivered = []
        self.thread = None

    def deliver(self):
        while (letter := self.letters.get()) is not None:
            for attempt in range(1, self.tries + 1):
                if attempt == self.tries or letter["epoch"] % 2:
                    self.delivered.append(letter)
                    break
                log.info("epoch %d: line is down, attempt %d", letter["epoch"], attempt)
                time.sleep(self.pause * attempt)

    def on_fit_start(self, trainer, pl_module):
        if trainer.is_global_zero:
            self.thread = threading.Thread(target=self.deliver, name="courier")
            self.thread.start()

    def on_train_epoch_end(self, trainer, pl_module):
        if self.thread is not None:
            self.letters.put({"epoch": trainer.current_epoch, "loss": trainer.callback_metrics["loss"].item()})

    def on_fit_end(self, trainer, pl_module):
        if self.thread is not None:
            self.letters.put(None)
            self.thread.join()
            log.info("%d letters delivered", len(self.delivered))
