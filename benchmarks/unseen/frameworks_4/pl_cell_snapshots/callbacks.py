from pathlib import Path

from lightning.pytorch.callbacks import Callback


class SnapshotOnImprovement(Callback):
    """Writes a full checkpoint when the smoothed loss has gone down since the last look."""

    def __init__(self, folder, look_every=24, momentum=0.9):
        self.folder = Path(folder)
        self.look_every = look_every
        self.momentum = momentum
        self.smooth = None
        self.best = float("inf")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        loss = float(outputs["loss"])
        self.smooth = loss if self.smooth is None else self.momentum * self.smooth + (1 - self.momentum) * loss
        if trainer.global_step % self.look_every:
            return
        if self.smooth < self.best:
            self.best = self.smooth
            self._write(trainer)

    def _write(self, trainer):
        if not trainer.is_global_zero:
            return
        name = f"step{trainer.global_step:05d}-loss{self.best:.3f}.ckpt"
        trainer.save_checkpoint(self.folder / name)
