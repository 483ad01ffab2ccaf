import time

from lightning.pytorch.callbacks import Callback


class RescueCheckpoint(Callback):
    """Saves what has been learned so far when training ends with an error."""

    def __init__(self, folder):
        self.folder = folder

    def on_exception(self, trainer, pl_module, exception):
        trainer.save_checkpoint(self.folder / f"rescued-step{trainer.global_step}.ckpt")


class StepClock(Callback):
    def on_train_start(self, trainer, pl_module):
        self.last = time.perf_counter()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        now = time.perf_counter()
        if trainer.is_global_zero and batch_idx % 10 == 0:
            print(f"batch {batch_idx}: {now - self.last:.3f} s, loss {outputs['loss']:.3f}", flush=True)
        self.last = now
