import time

import lightning as L
from lightning.pytorch.utilities import rank_zero_only


class FieldMaps(L.Callback):
    """Draws maps of all sections after each epoch."""

    def __init__(self, seconds):
        self.seconds = seconds

    @rank_zero_only
    def on_train_epoch_end(self, trainer, pl_module):
        end = time.monotonic() + self.seconds
        drawn = 0
        while time.monotonic() < end:
            sum(p.abs().sum().item() for p in pl_module.parameters())
            time.sleep(0.02)
            drawn += 1
        print(f"epoch {trainer.current_epoch}: {drawn} maps", flush=True)


class AgreedTimeBudget(L.Callback):
    """Stops all workers as soon as one of them has used up its time."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.began = None

    def on_fit_start(self, trainer, pl_module):
        self.began = time.monotonic() - 0.2 * trainer.global_rank

    def on_validation_end(self, trainer, pl_module):
        over = time.monotonic() - self.began > self.seconds
        if trainer.strategy.reduce_boolean_decision(over, all=False):
            trainer.should_stop = True
