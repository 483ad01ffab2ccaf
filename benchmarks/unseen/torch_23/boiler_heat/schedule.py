"""Learning rate by the validation error, and the end of a training that has come to rest."""
import dataclasses

from torch.optim.lr_scheduler import ReduceLROnPlateau


@dataclasses.dataclass
class PlateauConfig:
    factor: float = 0.3
    patience: int = 1
    floor: float = 2e-4


class Plateau:
    """Lowers the learning rate when the error does not fall any more; there is nothing to gain below the floor."""

    def __init__(self, optimizer, config):
        self.optimizer = optimizer
        self.config = config
        self.scheduler = ReduceLROnPlateau(optimizer, factor=config.factor, patience=config.patience)
        self.history = []

    @property
    def rate(self):
        return self.optimizer.param_groups[0]["lr"]

    def update(self, error):
        self.history.append(error)
        self.scheduler.step(error)

    @property
    def exhausted(self):
        return self.rate < self.config.floor

    def summary(self):
        best = min(self.history)
        return {"epochs": len(self.history), "best": best, "at": self.history.index(best), "rate": self.rate}

    def __repr__(self):
        return f"Plateau(rate={self.rate:.1e}, epochs={len(self.history)}, floor={self.config.floor:.1e})"
