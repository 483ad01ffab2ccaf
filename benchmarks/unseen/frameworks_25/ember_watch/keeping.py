"""Keeping what has been learnt when a run ends badly."""

import logging
from pathlib import Path

from lightning.pytorch.callbacks import Callback

log = logging.getLogger("keeping")


class LastWords(Callback):
    """Writes a checkpoint when training is ended by an exception, so that the run can be continued after a repair."""

    def __init__(self, folder):
        self.path = Path(folder) / "interrupted.ckpt"

    def on_exception(self, trainer, pl_module, exception):
        if trainer.global_step == 0:
            return  # nothing worth keeping
        trainer.save_checkpoint(self.path)
        log.warning("interrupted at step %d, weights are in %s", trainer.global_step, self.path)


class Steps(Callback):
    """A line every `every` steps."""

    def __init__(self, every):
        self.every = every

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.is_global_zero and (batch_idx + 1) % self.every == 0:
            print(f"batch {batch_idx + 1}: {outputs['loss'].item():.4f}", flush=True)
