"""Callbacks of the tool room: notes that are filed slowly, and a drawing after each validation."""

import subprocess
import sys
import threading
import time

from lightning.pytorch.callbacks import Callback

PLOTTER = "import sys, time; time.sleep(float(sys.argv[1])); sys.exit(int(sys.argv[2]))"


class Filing(Callback):
    """Files a note on every third batch in the background; what is left at the end is still filed."""

    def __init__(self, seconds=0.4):
        self.seconds = seconds
        self.pending = []
        self.filed = 0
        self.more = threading.Condition()
        self.ended = False

    def on_fit_start(self, trainer, pl_module):
        threading.Thread(target=self.work, name="filing").start()

    def work(self):
        while True:
            with self.more:
                while not self.pending and not self.ended:
                    self.more.wait()
                if not self.pending:
                    return
                self.pending.pop(0)
            time.sleep(self.seconds)
            self.filed += 1

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if batch_idx % 3 == 0:
            with self.more:
                self.pending.append((trainer.global_step, outputs["loss"].item()))
                self.more.notify()

    def on_fit_end(self, trainer, pl_module):
        with self.more:
            self.ended = True
            self.more.notify()


class Drawing(Callback):
    """The last process has the plotter draw; it jams now and then, and is tried up to three times."""

    def __init__(self, seconds=1.3, jams=(1,)):
        self.seconds = seconds
        self.jams = set(jams)
        self.validation = 0

    def plot(self):
        for attempt in range(3):
            jammed = self.validation in self.jams and attempt < 2
            child = subprocess.Popen([sys.executable, "-c", PLOTTER, str(self.seconds), str(int(jammed))])
            if child.wait() == 0:
                return True
        return False

    def on_validation_end(self, trainer, pl_module):
        if trainer.global_rank == trainer.world_size - 1:
            self.plot()
        self.validation += 1
