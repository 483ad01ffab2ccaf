"""What happens around the epochs: stopping, keeping the best weights, telling."""
import copy
import logging

log = logging.getLogger("hives")


class Callback:
    def after_validation(self, trainer, figures):
        pass


class Teller(Callback):
    def after_validation(self, trainer, figures):
        if trainer.rank == 0:
            log.info("epoch %d: %s", trainer.epoch, ", ".join(f"{k} {v:.3f}" for k, v in figures.items()))


class KeepBest(Callback):
    """Keeps a copy of the weights with the lowest loss over all apiaries."""

    def __init__(self):
        self.loss = float("inf")
        self.weights = None

    def after_validation(self, trainer, figures):
        if figures["loss"] < self.loss:
            self.loss = figures["loss"]
            self.weights = copy.deepcopy(trainer.model.module.state_dict())


class EarlyStopping(Callback):
    """Ends training when a figure has not become lower for `patience` epochs."""

    def __init__(self, monitor, patience=3, min_delta=0.05):
        self.monitor = monitor
        self.patience = patience
        self.min_delta = min_delta
        self.best = float("inf")
        self.waited = 0

    def after_validation(self, trainer, figures):
        value = figures[self.monitor]
        if value < self.best - self.min_delta:
            self.best, self.waited = value, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            trainer.should_stop = True
