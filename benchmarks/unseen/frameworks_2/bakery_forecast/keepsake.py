import os

from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only


class Keepsake(Callback):
    """Keeps the checkpoint with the lowest smoothed training loss."""

    def __init__(self, folder, every, decay=0.9):
        self.folder = folder
        self.every = every
        self.decay = decay
        self.smooth = None
        self.lowest = float("inf")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        loss = outputs["loss"].item()
        self.smooth = loss if self.smooth is None else self.decay * self.smooth + (1 - self.decay) * loss
        if trainer.global_step and trainer.global_step % self.every == 0:
            self.keep(trainer)

    @rank_zero_only
    def keep(self, trainer):
        if self.smooth >= self.lowest:
            return
        self.lowest = self.smooth
        os.makedirs(self.folder, exist_ok=True)
        trainer.save_checkpoint(os.path.join(self.folder, "lowest.ckpt"))
        print(f"kept step {trainer.global_step}: {self.lowest:.4f}", flush=True)
