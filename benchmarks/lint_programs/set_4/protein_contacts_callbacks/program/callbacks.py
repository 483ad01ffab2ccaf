import os
import time

import torch
import torch.distributed as dist

STARTED = time.time()


class Callback:
    def on_step_end(self, trainer): ...
    def on_fit_end(self, trainer): ...


class Progress(Callback):
    def __init__(self, every):
        self.every = every

    def on_step_end(self, trainer):
        if trainer.step % self.every == 0 and dist.get_rank() == 0:
            print(f"step {trainer.step} loss {trainer.loss.item():.4f}", flush=True)


class WallClockLimit(Callback):
    """Ends the run before the queue system kills it."""

    def __init__(self, seconds):
        self.seconds = seconds

    def on_step_end(self, trainer):
        if time.time() - STARTED > self.seconds:
            trainer.should_stop = True


class SaveLast(Callback):
    def __init__(self, path):
        self.path = path

    def on_fit_end(self, trainer):
        dist.barrier()
        if dist.get_rank() == 0:
            torch.save(trainer.state(), self.path + ".tmp")
            os.replace(self.path + ".tmp", self.path)
            print(f"done, saved step {trainer.step} to {self.path}", flush=True)
        dist.barrier()
