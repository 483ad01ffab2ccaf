import os

import torch


class BestCheckpoint:
    def __init__(self, monitor="val_loss", mode="min", filename="best.ckpt"):
        self.monitor = monitor
        self.sign = 1 if mode == "min" else -1
        self.filename = filename
        self.best_score = None
        self.best_model_path = None
        self.dirpath = None

    def setup(self, trainer):
        self.dirpath = os.path.join(trainer.logger.log_dir, "checkpoints")
        if trainer.is_global_zero:
            os.makedirs(self.dirpath, exist_ok=True)

    def on_validation_end(self, trainer, metrics):
        score = self.sign * metrics[self.monitor]
        if self.best_score is not None and score >= self.best_score:
            return
        self.best_score = score
        self.best_model_path = os.path.join(self.dirpath, self.filename)
        trainer.save_checkpoint(self.best_model_path)
