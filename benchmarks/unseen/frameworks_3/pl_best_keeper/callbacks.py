import pathlib

import lightning.pytorch as pl
from lightning.pytorch.utilities import rank_zero_info

REGISTRY = {}


def register(cls):
    REGISTRY[cls.__name__] = cls
    return cls


@register
class StepPrinter(pl.Callback):
    def __init__(self, every=10):
        self.every = every

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_step % self.every == 0:
            rank_zero_info(f"step {trainer.global_step}: {float(outputs['loss']):.4f}")


@register
class BestKeeper(pl.Callback):
    """Keeps the `top` best snapshots of the smoothed training loss, oldest thrown away first."""

    def __init__(self, folder="/tmp/best_keeper", warmup=24, every=8, top=2, beta=0.9):
        self.folder = pathlib.Path(folder)
        self.warmup, self.every, self.top, self.beta = warmup, every, top, beta
        self.smooth, self.best, self.kept = None, float("inf"), []

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        loss = float(outputs["loss"])
        self.smooth = loss if self.smooth is None else self.beta * self.smooth + (1 - self.beta) * loss
        step = trainer.global_step
        if step < self.warmup or step % self.every:
            return
        if trainer.is_global_zero and self.smooth < self.best:
            self.best = self.smooth
            self._snapshot(trainer, step)

    def _snapshot(self, trainer, step):
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"step={step}.ckpt"
        trainer.save_checkpoint(path, weights_only=True)
        self.kept.append(path)
        while len(self.kept) > self.top:
            self.kept.pop(0).unlink(missing_ok=True)


def build(spec):
    return [REGISTRY[name](**kwargs) for name, kwargs in spec.items()]
