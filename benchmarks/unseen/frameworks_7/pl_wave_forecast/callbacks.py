import time
from collections import deque

import lightning as L


class StepPacer(L.Callback):
    def __init__(self, seconds):
        self.seconds = seconds

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        time.sleep(self.seconds)


class ConvergenceGuard(L.Callback):
    """Finish when the targets carry no more variance to be explained."""

    def __init__(self, window, floor):
        self.recent = deque(maxlen=window)
        self.floor = floor

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        _, y = batch
        self.recent.append(float(y.var()))
        if len(self.recent) == self.recent.maxlen and max(self.recent) < self.floor:
            print(f"[{trainer.global_rank}] nothing left to learn at batch {batch_idx}", flush=True)
            trainer.should_stop = True
