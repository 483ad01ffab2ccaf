"""Callbacks of the trainer: what happens at the end of an epoch besides training."""
import logging
import time

log = logging.getLogger("orchard")


class Callback:
    def on_fit_start(self, trainer):
        pass

    def on_epoch_end(self, trainer, metrics):
        pass


class EpochLog(Callback):
    """One line an epoch, on the first process."""

    def on_fit_start(self, trainer):
        self.since = time.monotonic()

    def on_epoch_end(self, trainer, metrics):
        if trainer.rank == 0:
            seconds = time.monotonic() - self.since
            log.info("epoch %d train %.4f rmse %.4f (%.1f s)", trainer.epoch, metrics["train"], metrics["rmse"], seconds)


class AccuracyGoal(Callback):
    """Ends the fit once the forecast is as accurate as the growers' contract asks for.

    The goal has to be met in `confirmations` epochs in a row, so that a lucky epoch does not end it.
    """

    def __init__(self, rmse, confirmations=2):
        self.rmse = rmse
        self.confirmations = confirmations
        self.met = 0

    def on_epoch_end(self, trainer, metrics):
        self.met = self.met + 1 if metrics["rmse"] <= self.rmse else 0
        if self.met >= self.confirmations:
            trainer.request_stop(f"rmse {metrics['rmse']:.4f} in {self.met} epochs")


def default_callbacks(goal):
    return [EpochLog(), AccuracyGoal(goal)]
