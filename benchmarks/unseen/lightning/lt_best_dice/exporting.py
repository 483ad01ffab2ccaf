"""Callbacks that write artefacts for the annotation team."""
import logging
from pathlib import Path

from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities.rank_zero import rank_zero_only

log = logging.getLogger(__name__)


class BestDiceExporter(Callback):
    """Keeps a copy of the network with the best running Dice score.

    The copy is what the viewer of the annotators picks up, so it is written during the epoch
    and not only when the validation is done.
    """

    def __init__(self, directory: str, every: int = 10, warmup: int = 20, momentum: float = 0.9):
        self.directory = Path(directory)
        self.every = every
        self.warmup = warmup
        self.momentum = momentum
        self.running = None
        self.best = -1.0

    def _smooth(self, value: float) -> float:
        if self.running is None:
            self.running = value
        self.running = self.momentum * self.running + (1.0 - self.momentum) * value
        return self.running

    @rank_zero_only
    def _export(self, trainer, score: float) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        target = self.directory / f"unet-step{trainer.global_step:05d}-dice{score:.3f}.ckpt"
        trainer.save_checkpoint(target, weights_only=True)
        log.info("exported %s", target.name)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        score = self._smooth(float(outputs["dice"]))
        if trainer.global_step < self.warmup or trainer.global_step % self.every:
            return
        if score > self.best:
            self.best = score
            self._export(trainer, score)
