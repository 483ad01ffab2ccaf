import time
from pathlib import Path

import lightning as L
from lightning.pytorch.utilities import rank_zero_info, rank_zero_only


class ThroughputMonitor(L.Callback):
    def on_train_epoch_start(self, trainer, pl_module):
        self._start = time.monotonic()
        self._seen = 0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self._seen += batch[0].size(0)

    def on_train_epoch_end(self, trainer, pl_module):
        rate = self._seen / (time.monotonic() - self._start)
        pl_module.log("train/samples_per_sec", rate * trainer.world_size, rank_zero_only=True)


class SnapshotCallback(L.Callback):
    """Weights-only snapshots every few epochs; the oldest beyond ``keep`` are removed."""

    def __init__(self, dirpath, every_n_epochs=5, keep=3):
        self.dirpath = Path(dirpath)
        self.every_n_epochs = every_n_epochs
        self.keep = keep
        self._saved = []

    @rank_zero_only
    def on_train_epoch_end(self, trainer, pl_module):
        epoch = trainer.current_epoch + 1
        if epoch % self.every_n_epochs:
            return
        path = self.dirpath / f"snapshot-{epoch:04d}.ckpt"
        trainer.save_checkpoint(path, weights_only=True)
        self._saved.append(path)
        rank_zero_info(f"wrote {path}")
        self._prune()

    @rank_zero_only
    def _prune(self):
        while len(self._saved) > self.keep:
            self._saved.pop(0).unlink(missing_ok=True)
