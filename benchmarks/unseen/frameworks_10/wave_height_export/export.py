from pathlib import Path

from lightning.pytorch.callbacks import Callback


class KeepBestForExport(Callback):
    """Keeps the best state of the run for the forecasters' export, apart from the regular checkpoints."""

    def __init__(self, folder: Path, monitor: str = "val_rmse"):
        self.folder = folder
        self.monitor = monitor
        self.best = float("inf")

    def on_validation_end(self, trainer, module):
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        value = trainer.callback_metrics[self.monitor].item()
        if value < self.best:
            self.best = value
            trainer.save_checkpoint(self.folder / "export.ckpt", weights_only=True)
