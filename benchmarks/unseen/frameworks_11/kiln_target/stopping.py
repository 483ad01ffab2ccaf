from collections import deque

from lightning.pytorch.callbacks import Callback


class TargetLoss(Callback):
    """Ends the training once the loss is as low as the process data can make it."""

    def __init__(self, target: float, window: int):
        self.target = target
        self.recent = deque(maxlen=window)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.recent.append(outputs["loss"].item())
        if len(self.recent) < self.recent.maxlen:
            return
        mean = sum(self.recent) / len(self.recent)
        if mean < self.target:
            print(f"kiln {trainer.global_rank}: loss {mean:.4f} at step {trainer.global_step}", flush=True)
            trainer.should_stop = True
