class Callback:
    def on_epoch_start(self, trainer, epoch):
        pass

    def on_epoch_end(self, trainer, epoch, metrics):
        pass


class GradualUnfreeze(Callback):
    """Opens backbone stages on a fixed schedule: pairs of (epoch, stage index)."""

    def __init__(self, schedule):
        self.schedule = [(int(epoch), int(stage)) for epoch, stage in schedule]

    def on_epoch_start(self, trainer, epoch):
        for when, index in self.schedule:
            if epoch == when:
                trainer.network.stages[index].requires_grad_(True)
                trainer.log(f"epoch {epoch}: stage {index} is trainable now")


class PrintMetrics(Callback):
    def on_epoch_end(self, trainer, epoch, metrics):
        pairs = " ".join(f"{k}={v:.4f}" for k, v in metrics.items())
        trainer.log(f"epoch {epoch}: {pairs}")
