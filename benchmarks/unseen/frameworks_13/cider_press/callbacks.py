from lightning.pytorch.callbacks import Callback


class RunningLoss(Callback):
    """Keeps an exponential average of the training loss in `trainer.running_loss`."""

    def __init__(self, decay=0.95):
        self.decay = decay

    def on_train_start(self, trainer, pl_module):
        trainer.running_loss = None

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        loss = outputs["loss"].item()
        last = trainer.running_loss
        trainer.running_loss = loss if last is None else self.decay * last + (1 - self.decay) * loss


class GoodEnough(Callback):
    """Ends training once the running loss has stayed below `target` for `patience` batches."""

    def __init__(self, target, patience=10):
        self.target = target
        self.patience = patience
        self.below = 0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.running_loss < self.target:
            self.below += 1
        else:
            self.below = 0
        if self.below >= self.patience:
            trainer.should_stop = True
