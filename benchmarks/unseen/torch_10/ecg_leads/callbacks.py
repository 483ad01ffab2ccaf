import logging

log = logging.getLogger("ecg")


class Callback:
    def on_batch_end(self, trainer, step):
        pass

    def on_epoch_end(self, trainer, epoch):
        pass


class LearningRate(Callback):
    def on_epoch_end(self, trainer, epoch):
        trainer.scheduler.step()


class Console(Callback):
    def __init__(self, every):
        self.every = every

    def on_batch_end(self, trainer, step):
        if step % self.every or not trainer.is_main:
            return
        log.info("step %4d loss %.4f", step, trainer.last_loss)

    def on_epoch_end(self, trainer, epoch):
        if trainer.is_main:
            log.info("epoch %d %s", epoch, trainer.metrics.describe())


class ResetMetrics(Callback):
    def on_epoch_end(self, trainer, epoch):
        trainer.metrics.reset()
